"""Leads: the site's form becomes a card in Telegram; if nobody presses "Taken" within 15 minutes, a reminder."""

import re
from datetime import timedelta

from tidemill import NewJob, Signal, handler

from automations.site import elsewhere, site
from automations.telegram import telegram

TAKEN = re.compile("taken:[0-9]+")

elsewhere.append("lead")


@site.route
def forms(event):
    match event.json:
        case {"type": "lead", "name": str(name), "message": str(message)}:
            yield NewJob("lead", {"name": name, "message": message})
        case {"type": "lead"}:
            raise ValueError("name and message of a lead must be texts")


@telegram.route
def presses(event):
    match event.json:
        case {"callback_query": {"data": str(data), "from": {"first_name": str(name)}}} if TAKEN.fullmatch(data):
            yield Signal(data, {"by": name})


@handler("lead", timeout=30)
def announce(job, ctx):
    name = f"taken:{job.id}"
    ctx.step("card", say, ctx, f"Lead {job.id}: {job.payload['name']}\n\n{job.payload['message']}", {"Taken": name})
    if taken := ctx.wait_for(name, timedelta(minutes=15)):
        ctx.step("thanks", say, ctx, f"Lead {job.id} is taken by {taken['by']}")
    else:
        ctx.step("reminder", say, ctx, f"Lead {job.id} has been waiting for 15 minutes: {job.payload['name']}")


def say(ctx, text, buttons=None):
    ctx.telegram.send_message(ctx.settings["TELEGRAM_ALERT_CHAT_ID"], text, buttons)
