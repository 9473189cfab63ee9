"""The bot: /ping is answered with pong. Every other update is stored, and that is all."""

from tidemill import Bot, senders

telegram = senders.telegram()
bot = Bot(telegram)


@bot.command("ping", timeout=30)
def ping(job, ctx):
    ctx.telegram.send_message(job.payload["chat_id"], "pong")
