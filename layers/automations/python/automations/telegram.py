"""The bot: /ping is answered with pong. Every other update is stored, and that is all."""

import re

from tidemill import Discard, NewJob, PermanentError, Source, handler
from tidemill.verify import json_path, secret_header

telegram = Source(
    "telegram",
    verify=secret_header("X-Telegram-Bot-Api-Secret-Token", secret="TELEGRAM_WEBHOOK_SECRET"),
    dedup_key=json_path("update_id"),
)

# In a group a command may name the bot that it is for: /ping@OurBot.
PING = re.compile(r"/ping(?:@(?P<bot>\w+))?(?=\s|$)", re.IGNORECASE | re.ASCII)


@telegram.route
def commands(event):
    match event.json:
        case {"message": {"text": str(text), "chat": {"id": int(chat_id)}}} if ping := PING.match(text):
            yield NewJob("telegram.ping", {"chat_id": chat_id, "bot": ping["bot"]})


@handler("telegram.ping", timeout=30)
def pong(job, ctx):
    if (bot := job.payload["bot"]) and not is_ours(bot, ctx):
        return Discard(f"the command is for the bot {bot}")
    ctx.telegram.send_message(job.payload["chat_id"], "pong")


def is_ours(bot, ctx):
    """Whether this is our bot's name; not, where Telegram does not tell our name: silence is better than two answers."""
    try:
        return bot.lower() == ctx.telegram.bot_name().lower()
    except PermanentError:
        return False
