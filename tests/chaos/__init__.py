"""Chaos: senders, drains, schedules and operators work on one database while everything that can fail does.

What is done and when comes from a seed (plan.py). The functions run in real processes under the real Lambda runtime client
(slots.py), each slot on a link of its own to Postgres (links.py); a stand-in for a provider fails as it likes (provider.py).
The database keeps a witness of each step of each job (witness.sql). In the end faults stop, the line is drained (run.py),
and the evidence is held against what Tidemill promises (evidence.py, claims*.py).
"""
