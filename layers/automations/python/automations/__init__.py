"""The automations. Each module in here is loaded at the start: a new file is all that a new automation needs."""
