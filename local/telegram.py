"""A stand-in for Telegram's Bot API: takes messages, refuses what Telegram refuses, and can be told to fail.

https://core.telegram.org/bots/api#making-requests
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from http.client import responses
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from local.server import Handler, Server

BOT = "TidemillBot"

_LARGEST = 1024 * 1024
_LONGEST_TEXT = 4096  # UTF-16 units
_LONGEST_DATA = 64  # bytes that a button carries
_OBJECTS = ("entities", "reply_markup")  # which a form has as JSON
_secret_token = re.compile("[A-Za-z0-9_-]{1,256}")

Answer = tuple[int, dict[str, Any]]


class Sent(NamedTuple):
    """A message that was delivered: to whom, its text, and when (epoch seconds)."""

    chat_id: str
    text: str
    at: float
    entities: list[dict[str, Any]]
    buttons: list[dict[str, str]]


class Telegram:
    """Listens from the moment it is made until `close`. `say(text)` is called with each message that is delivered."""

    def __init__(self, say: Callable[[str], None] = lambda text: None) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._faults: list[Answer] = []
        self._sent: list[Sent] = []
        self._refused = 0
        self._moved: dict[str, int] = {}
        self._blocked: set[str] = set()
        self.pressed: list[str] = []  # the ids of the presses that were answered
        self.webhook: dict[str, Any] = {}  # what setWebhook was called with last
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
        self._expect(times, _fault(status, responses[status]))

    def limit(self, times: int, retry_after: int) -> None:
        """Answer the next `times` calls with 429 and `retry_after` seconds."""
        text = f"Too Many Requests: retry after {retry_after}"
        self._expect(times, _fault(429, text, {"retry_after": retry_after}))

    def move(self, old: int, new: int) -> None:
        """Let a group become a supergroup with another id."""
        with self._lock:
            self._moved[str(old)] = new

    def block(self, chat_id: int) -> None:
        """Let a person block the bot."""
        with self._lock:
            self._blocked.add(str(chat_id))

    def recover(self) -> None:
        """Answer all calls from now on."""
        with self._lock:
            self._faults.clear()

    def close(self) -> None:
        self._server.close()

    def receive(self, method: str, arguments: dict[str, Any]) -> Answer:
        """One call of the Bot API: its status and its answer."""
        with self._lock:
            if self._faults:
                self._refused += 1
                return self._faults.pop(0)
            match method:
                case "getMe":
                    return _result({"id": 1, "is_bot": True, "username": BOT})
                case "answerCallbackQuery":
                    self.pressed.append(str(arguments.get("callback_query_id", "")))
                    return _result(True)
                case "setWebhook":
                    return self._set_webhook(arguments)
                case "sendMessage":
                    answer = self._send(arguments)
                case _:
                    return _fault(404, "Not Found")
        if answer[0] == 200:
            self._say(f"to {arguments['chat_id']}: {arguments['text']}")
        return answer

    def _send(self, arguments: dict[str, Any]) -> Answer:
        chat_id, text = str(arguments.get("chat_id", "")), str(arguments.get("text", ""))
        rows = arguments.get("reply_markup", {}).get("inline_keyboard", [])
        buttons = [button for row in rows for button in row]
        if not chat_id:
            return _fault(400, "Bad Request: chat_id is empty")
        if new := self._moved.get(chat_id):
            text = "Bad Request: group chat was upgraded to a supergroup chat"
            return _fault(400, text, {"migrate_to_chat_id": new})
        if chat_id in self._blocked:
            return _fault(403, "Forbidden: bot was blocked by the user")
        if not text.strip():
            return _fault(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le", "surrogatepass")) > 2 * _LONGEST_TEXT:
            return _fault(400, "Bad Request: message is too long")
        if any(not 1 <= len(button["callback_data"].encode()) <= _LONGEST_DATA for button in buttons):
            return _fault(400, "Bad Request: BUTTON_DATA_INVALID")
        self._sent.append(Sent(chat_id, text, time.time(), arguments.get("entities", []), buttons))
        chat = {"id": chat_id, "type": "private"}
        return _result({"message_id": len(self._sent), "date": int(time.time()), "chat": chat, "text": text})

    def _set_webhook(self, arguments: dict[str, Any]) -> Answer:
        if not str(arguments.get("url")).startswith("https://"):
            return _fault(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        if not _secret_token.fullmatch(arguments.get("secret_token", "")):
            return _fault(400, "Bad Request: secret token contains unallowed characters")
        self.webhook = arguments
        return _result(True)

    def _expect(self, times: int, answer: Answer) -> None:
        with self._lock:
            self._faults += [answer] * times


def _result(result: object) -> Answer:
    return 200, {"ok": True, "result": result}


def _fault(status: int, description: str, parameters: dict[str, Any] | None = None) -> Answer:
    answer = {"ok": False, "error_code": status, "description": description}
    return status, answer | ({"parameters": parameters} if parameters else {})


def _bot_api(telegram: Telegram) -> type[Handler]:
    class BotApi(Handler):
        def respond(self) -> None:
            body = self.read_body(_LARGEST) or b""
            if "json" in self.headers.get("Content-Type", ""):
                arguments = json.loads(body or b"{}")
            else:
                form = {name: values[-1] for name, values in parse_qs(body.decode()).items()}
                arguments = {name: json.loads(value) if name in _OBJECTS else value for name, value in form.items()}
            status, answer = telegram.receive(self.path.rpartition("/")[2], arguments)
            self.answer_json(status, json.dumps(answer))

    return BotApi
