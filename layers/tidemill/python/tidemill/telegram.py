"""Telegram's bot, as far as it is needed: send a text, know its own name. https://core.telegram.org/bots/api"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidemill import http, jsontext, retry
from tidemill.errors import PermanentError, RequestFailed
from tidemill.settings import Settings
from tidemill.telemetry import Log

if TYPE_CHECKING:
    import requests

API = "https://api.telegram.org"
LONGEST_TEXT = 4096  # UTF-16 units; the documentation says characters, and this is safe under either reading
NO_TEXT = "(no text)"  # sent for an empty text, which Telegram refuses
SHORT_TIMEOUT = (3.0, 5.0)


class Telegram:
    """The bot of TELEGRAM_BOT_TOKEN at TELEGRAM_API. Without a `session` it makes one, with short timeouts.

    The token is part of every address that is called, so no error of `requests` gets past here: its text, and the request
    that hangs on it, would carry the token into logs and rows.
    """

    def __init__(self, settings: Settings, session: requests.Session | None = None) -> None:
        self._settings = settings
        self._given = session

    def send_message(self, chat_id: int | str, text: str, buttons: Mapping[str, str] | None = None) -> None:
        """Send a text as it is, without markup; one over 4096 UTF-16 units as several messages, cut at line ends where
        there are any. A chat that has become a supergroup gets it under its new id, with a warning in the log.

        `buttons` maps labels to 1 to 64 bytes of data each, and stands below the last message; whoever presses one makes
        Telegram deliver an update with a callback_query, which has the data and an id for `answer_press`.

        Raises RateLimited with the seconds that Telegram names, PermanentError where another attempt cannot help (a wrong
        token or chat, a bot that was blocked), RequestFailed otherwise, ConfigurationError without a token. If one of
        several messages fails, the attempt after it sends them all again.
        """
        rows = [[{"text": label, "callback_data": data}] for label, data in (buttons or {}).items()]
        *chunks, last = split(text)
        for chunk in chunks:
            chat_id = self._send({"chat_id": chat_id, "text": chunk})
        self._send({"chat_id": chat_id, "text": last} | ({"reply_markup": {"inline_keyboard": rows}} if rows else {}))

    def answer_press(self, callback_query_id: str, text: str = "") -> None:
        """Tell who pressed a button that it was heard: until then it shows that it is busy. `text`, at most 200 characters,
        is shown for a moment. Raises what `send_message` raises; PermanentError also where the press was too long ago."""
        self._call("answerCallbackQuery", {"callback_query_id": callback_query_id, "text": text})

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


def split(text: str) -> list[str]:
    """The text in chunks of at most 4096 UTF-16 units, cut after a line end where there is one and never inside a
    character. Chunks of nothing but white space, which Telegram refuses, are left out; if none is left there is NO_TEXT."""
    text = jsontext.clean(text, 4 * len(text) + 1)
    chunks: list[str] = []
    start = 0
    while start < len(text):
        # Half of a surrogate pair at the end of the cut is what "ignore" drops.
        units = text[start : start + LONGEST_TEXT].encode("utf-16-le")[: 2 * LONGEST_TEXT]
        chunk = units.decode("utf-16-le", "ignore")
        if start + len(chunk) < len(text):
            chunk = chunk[: chunk.rfind("\n") + 1] or chunk
        chunks.append(chunk)
        start += len(chunk)
    return [chunk for chunk in chunks if chunk.strip()] or [NO_TEXT]


def _json(response: requests.Response) -> dict[str, Any]:
    try:
        answer = jsontext.loads(response.text)
    except Exception:  # a body that is no JSON, or breaks off; its error would show the request
        return {}
    return answer if isinstance(answer, dict) else {}


def _part(answer: dict[str, Any], name: str) -> dict[str, Any]:
    part = answer.get(name)
    return part if isinstance(part, dict) else {}
