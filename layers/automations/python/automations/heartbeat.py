"""Each hour a line in the log that the machine runs, with the hour it stands for."""

from tidemill import every, handler


@every(minutes=60)
@handler("heartbeat")
def heartbeat(job, ctx):
    ctx.log.info("the machine runs", slot=job.slot, previous_slot=job.previous_slot)
