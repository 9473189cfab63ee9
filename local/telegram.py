"""A stand-in for Telegram's Bot API: takes messages, tells what it got, and can be told to fail.

https://core.telegram.org/bots/api#making-requests
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.client import responses
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from local.server import Handler, Server

BOT = "TidemillBot"

_LARGEST = 1024 * 1024


class Sent(NamedTuple):
    """A message that was delivered: to whom, its text, and when (epoch seconds)."""

    chat_id: str
    text: str
    at: float


class Telegram:
    """Listens from the moment it is made until `close`. `say(text)` is called with each message that is delivered."""

    def __init__(self, say: Callable[[str], None] = lambda text: None) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._faults: list[tuple[int, dict[str, Any]]] = []
        self._sent: list[Sent] = []
        self._refused = 0
        self._server = Server(_bot_api(self))

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def sent(self) -> list[Sent]:
        """What was delivered, in order."""
        with self._lock:
            return list(self._sent)

    @property
    def refused(self) -> int:
        """How many calls were answered with a fault."""
        with self._lock:
            return self._refused

    def fail(self, times: int, status: int = 502) -> None:
        """Answer the next `times` calls with this status."""
        self._expect(times, status, {"ok": False, "error_code": status, "description": responses[status]})

    def limit(self, times: int, retry_after: int) -> None:
        """Answer the next `times` calls with 429 and `retry_after` seconds."""
        parameters = {"retry_after": retry_after}
        text = f"Too Many Requests: retry after {retry_after}"
        self._expect(times, 429, {"ok": False, "error_code": 429, "description": text, "parameters": parameters})

    def recover(self) -> None:
        """Answer all calls from now on."""
        with self._lock:
            self._faults.clear()

    def close(self) -> None:
        self._server.close()

    def receive(self, method: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """One call of the Bot API: its status and its answer."""
        with self._lock:
            if self._faults:
                self._refused += 1
                return self._faults.pop(0)
            chat_id, text = str(arguments.get("chat_id", "")), str(arguments.get("text", ""))
            if method == "getMe":
                return 200, {"ok": True, "result": {"id": 1, "is_bot": True, "username": BOT}}
            if method == "answerCallbackQuery":
                return 200, {"ok": True, "result": True}
            if method != "sendMessage":
                return 404, {"ok": False, "error_code": 404, "description": "Not Found"}
            if not chat_id or not text.strip():
                what = "message text is empty" if chat_id else "chat_id is empty"
                return 400, {"ok": False, "error_code": 400, "description": f"Bad Request: {what}"}
            self._sent.append(Sent(chat_id, text, time.time()))
            number = len(self._sent)
        self._say(f"to {chat_id}: {text}")
        chat = {"id": chat_id, "type": "private"}
        return 200, {"ok": True, "result": {"message_id": number, "date": int(time.time()), "chat": chat, "text": text}}

    def _expect(self, times: int, status: int, answer: dict[str, Any]) -> None:
        with self._lock:
            self._faults += [(status, answer)] * times


def _bot_api(telegram: Telegram) -> type[Handler]:
    class BotApi(Handler):
        def respond(self) -> None:
            body = self.read_body(_LARGEST) or b""
            if "json" in self.headers.get("Content-Type", ""):
                arguments = json.loads(body or b"{}")
            else:
                arguments = {name: values[-1] for name, values in parse_qs(body.decode()).items()}
            status, answer = telegram.receive(self.path.rpartition("/")[2], arguments)
            self.answer_json(status, json.dumps(answer))

    return BotApi
