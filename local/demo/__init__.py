"""`make demo`: the failures that Tidemill exists for, told as they happen, each claim checked."""
