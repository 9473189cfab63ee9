"""`tidemill ...`: the operator's commands for people and for programs, on a database or through a deployed stack.

`main` puts the commands together. Nothing of this is imported by a function: typer and rich are not in the layer, so that
`migrate`, which a deploy may run, is read by argparse.
"""
