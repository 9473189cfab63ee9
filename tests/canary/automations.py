"""Automations that do with secrets what code in a hurry does: errors, logs and requests that hold them, in every form."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from tidemill import Discard, Event, NewJob, PermanentError, RateLimited, Source, every, handler
from tidemill.verify import header, hmac_sha256, secret_header

shop = Source("shop", hmac_sha256("X-Shop-Signature", secret="SHOP_SIGNING"), header("X-Shop-Delivery"))
bot = Source("bot", secret_header("X-Bot-Token", secret="BOT_WEBHOOK_SECRET"))

NAMES = ("SHOP_SIGNING", "BOT_WEBHOOK_SECRET", "TELEGRAM_BOT_TOKEN", "MAIL_API_KEY", "DATABASE_URL")

FORMS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "repr": repr,
    "json": json.dumps,
    "percent": lambda text: quote(text, safe=""),
    "path": quote,
    "plus": quote_plus,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "basic": lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
    "basic2": lambda text: base64.b64encode(f"users:{text}!".encode()).decode(),
    "url64": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
}


def spoken(settings: Mapping[str, str]) -> str:
    """Every secret in every form."""
    return " ".join(f"{name}={form(settings[name])}" for name in NAMES for form in FORMS.values())


@shop.route
def orders(event: Event) -> Iterator[NewJob]:
    for kind in event.json["kinds"]:
        yield NewJob(kind)
    if "raise" in event.json:
        from tidemill import app

        raise ValueError(spoken(app.current().settings))


@bot.route
def updates(event: Event) -> Iterator[NewJob]:
    yield NewJob("fine")


def fail_with(kind: str, make: Callable[[str], BaseException]) -> None:
    @handler(kind, max_attempts=2)
    def fail(job: Any, ctx: Any) -> None:
        raise make(spoken(ctx.settings))


fail_with("raises", ValueError)
fail_with("raises a key", lambda text: KeyError(text))
fail_with("exits", SystemExit)
fail_with("fails for good", PermanentError)
fail_with("is limited", lambda text: RateLimited(5, text))
# The text is cut in the middle of a secret.
fail_with("is cut", lambda text: ValueError("x" * 4000 + text))


@handler("raises from another")
def raises_from(job: Any, ctx: Any) -> None:
    try:
        raise OSError(spoken(ctx.settings))
    except OSError as error:
        raise ValueError(f"no luck: {error}") from error


@handler("discards")
def discards(job: Any, ctx: Any) -> Discard:
    return Discard(spoken(ctx.settings))


@handler("logs")
def logs(job: Any, ctx: Any) -> None:
    ctx.log.info(spoken(ctx.settings), secret=ctx.settings["MAIL_API_KEY"], nested={"text": [spoken(ctx.settings)]})
    ctx.log.error("settings", settings=ctx.settings, whole=dict(ctx.settings))


@handler("calls")
def calls(job: Any, ctx: Any) -> None:
    """The address stands in the error."""
    secret = ctx.settings["MAIL_API_KEY"]
    ctx.http.get(f"http://127.0.0.1:1/{secret}", params={"key": secret}, headers={"Authorization": quote(secret)})


@handler("tells")
def tells(job: Any, ctx: Any) -> None:
    ctx.telegram.send_message(1, "hello")


@handler("bad sql")
def bad_sql(job: Any, ctx: Any) -> None:
    """Postgres repeats the statement in its error."""
    ctx.connection.execute(f"select * from nowhere where password = 'é' -- {ctx.settings['MAIL_API_KEY']}")


@handler("works in steps")
def works_in_steps(job: Any, ctx: Any) -> None:
    def charge() -> None:
        raise PermanentError(spoken(ctx.settings))

    ctx.step("charge", charge)


@handler("publishes")
def publishes(job: Any, ctx: Any) -> None:
    with ctx.once("k") as entry:
        entry.result = {"done": True}
        ctx.publish("orders", {"number": 1})
        ctx.publish("nowhere", {"number": 1})


@every(minutes=1)
@handler("fine")
def fine(job: Any, ctx: Any) -> None: ...


KINDS = (
    "raises", "raises a key", "exits", "fails for good", "is limited", "is cut", "raises from another", "discards", "logs",
    "calls", "tells", "bad sql", "works in steps", "publishes", "fine",
)  # fmt: skip
