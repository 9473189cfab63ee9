"""Telegram's bot, as far as it is needed: send a text, answer a press, know its own name, ask for updates.

https://core.telegram.org/bots/api
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidemill import http, jsontext, retry, telegram_text
from tidemill.errors import ConfigurationError, PermanentError, RequestFailed
from tidemill.settings import Settings, secrets_in
from tidemill.telemetry import Log

if TYPE_CHECKING:
    import requests

API = "https://api.telegram.org"
LONGEST_DATA = 64  # bytes that a button carries
LONGEST_ANSWER = 200  # characters shown to who presses one
SHORT_TIMEOUT = (3.0, 5.0)

_secret = re.compile("[A-Za-z0-9_-]{1,256}")  # what setWebhook takes as its secret_token


class Telegram:
    """The bot of TELEGRAM_BOT_TOKEN at TELEGRAM_API. Without a `session` it makes one, with short timeouts.

    The token is part of every address that is called, so no error of `requests` gets past here: its text, and the request
    that hangs on it, would carry the token into logs and rows.
    """

    def __init__(self, settings: Settings, session: requests.Session | None = None) -> None:
        self._settings = settings
        self._given = session

    def send_message(
        self, chat_id: int | str, text: str, buttons: Mapping[str, str] | None = None, *, html: bool = False
    ) -> int | str:
        """Send a text; one over 4096 UTF-16 units as several messages, cut at line ends where there are any. It is sent as
        it stands, and no character in it is markup; with `html` some tags are (`telegram_text.parse`), so what comes from
        elsewhere goes through `html.escape`. Neither can be refused for its markup.

        `buttons` maps labels to 1 to 64 bytes of data each, and stands below the last message; whoever presses one makes
        Telegram deliver an update with a callback_query, which has the data and an id for `answer_press`.

        Returns the chat's id, a new one where it has become a supergroup: that gets the text, and the log a warning.
        Raises RateLimited with the seconds that Telegram names, PermanentError where another attempt cannot help (a wrong
        token or chat, a bot that was blocked, a button with too much data), RequestFailed otherwise, ConfigurationError
        without a token. If one of several messages fails, the attempt after it sends them all again.
        """
        rows = [[_button(label, data)] for label, data in (buttons or {}).items()]
        *first, last = telegram_text.messages(text, html=html)
        for message in first:
            chat_id = self._send({"chat_id": chat_id, **message})
        return self._send({"chat_id": chat_id, **last} | ({"reply_markup": {"inline_keyboard": rows}} if rows else {}))

    def answer_press(self, callback_query_id: str, text: str = "") -> None:
        """Tell who pressed a button that it was heard: until then it shows that it is busy. Of `text` 200 characters are
        shown for a moment. Raises what `send_message` raises; PermanentError also where the press was too long ago."""
        self._call("answerCallbackQuery", {"callback_query_id": callback_query_id, "text": text[:LONGEST_ANSWER]})

    def set_webhook(self, url: str, secret: str) -> None:
        """Let Telegram deliver updates to `url`, with `secret` in a header: all kinds but those that Telegram sends only to
        who names them. What waits is delivered too. Raises what `send_message` raises."""
        self._call("setWebhook", {"url": url, "secret_token": secret, "allowed_updates": []})

    def bot_name(self) -> str:
        """The bot's own user name, without @; '' where Telegram does not say. Raises what `send_message` raises."""
        result = _part(self._call("getMe", {}), "result")
        return str(result.get("username") or "")

    def _send(self, message: dict[str, Any]) -> int | str:
        """Send one message; returns the id that its chat has now."""
        old_id: int | str = message["chat_id"]
        try:
            self._call("sendMessage", message)
            return old_id
        except _Moved as moved:
            new_id = moved.chat_id
        log = Log(self._settings.redact)
        log.warning("a Telegram chat has a new id: put it where the old one stands", old=old_id, new=new_id)
        self._call("sendMessage", {**message, "chat_id": new_id})
        return new_id

    def _call(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        self._settings.require("TELEGRAM_BOT_TOKEN")
        base = (self._settings.get("TELEGRAM_API") or API).rstrip("/")
        url = f"{base}/bot{self._settings['TELEGRAM_BOT_TOKEN']}/{method}"
        what, trouble = f"Telegram {method}", ""
        try:
            response = self._session.post(url, json=body, allow_redirects=False)
        except Exception as error:
            trouble = type(error).__name__
        if trouble:  # raised here, so that the error above does not hang on it as its context
            raise RequestFailed(f"{what}: {trouble}")
        answer = _json(response)
        parameters = _part(answer, "parameters")
        moved_to = parameters.get("migrate_to_chat_id")
        if response.status_code == 400 and isinstance(moved_to, (int, str)) and moved_to:
            raise _Moved(moved_to)
        wait = retry.parse_retry_after(str(parameters.get("retry_after") or ""), 0.0)
        if wait is None:
            wait = retry.parse_retry_after(response.headers.get("Retry-After"), time.time())
        said = jsontext.clean(self._settings.redact(str(answer.get("description") or "")), http.LONGEST_PIECE)
        if advice := _advice(response.status_code, body):
            said = f"{said} ({advice})"
        if (fault := http.fault(response.status_code, wait, what, said)) is not None:
            raise fault
        if answer.get("ok") is not True:
            raise RequestFailed(f"{what}: an answer that is not Telegram's")
        return answer

    @cached_property
    def _session(self) -> requests.Session:
        return self._given or http.session(timeout=SHORT_TIMEOUT)


class _Moved(PermanentError):
    """The chat has another id now."""

    def __init__(self, chat_id: int | str) -> None:
        super().__init__(f"the chat has moved to {chat_id}")
        self.chat_id = chat_id


def register(settings: Settings, session: requests.Session | None, url: str, secret: str = "TELEGRAM_WEBHOOK_SECRET") -> str:
    """Let Telegram deliver the bot's updates to `url`, verified by the first secret in the setting `secret`; answers what
    was done, in a sentence. Raises PermanentError where Telegram refuses, with what it says, or the secret is none for it,
    and otherwise what `send_message` raises."""
    given = secrets_in(settings.get(secret, ""))
    if not given:
        raise ConfigurationError(f"missing settings: {secret}")
    if not _secret.fullmatch(given[0]):
        raise PermanentError(f"{secret}: Telegram takes 1 to 256 of A-Z, a-z, 0-9, _ and -")
    Telegram(settings, session).set_webhook(url, given[0])
    return f"Telegram delivers the bot's updates to {url} from now on, with the secret of {secret}."


def _button(label: str, data: str) -> dict[str, str]:
    size = len(data.encode("utf-8", "replace"))
    if not 1 <= size <= LONGEST_DATA:
        raise PermanentError(f"the button {label!r} has {size} bytes of data: Telegram takes 1 to {LONGEST_DATA}")
    return {"text": label, "callback_data": data}


def _advice(status: int, body: Mapping[str, Any]) -> str:
    """What a person can do where Telegram refuses for good."""
    if status in (401, 404):
        return "is TELEGRAM_BOT_TOKEN right?"
    if status == 403 and "chat_id" in body:
        return f"the chat {body['chat_id']} has to let the bot in again: start it there, or add it"
    if status == 400 and "chat_id" in body:
        return f"the chat {body['chat_id']}"
    return ""


def _json(response: requests.Response) -> dict[str, Any]:
    try:
        answer = jsontext.loads(response.text)
    except Exception:  # a body that is no JSON, or breaks off; its error would show the request
        return {}
    return answer if isinstance(answer, dict) else {}


def _part(answer: dict[str, Any], name: str) -> dict[str, Any]:
    part = answer.get(name)
    return part if isinstance(part, dict) else {}
