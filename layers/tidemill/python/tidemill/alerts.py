"""Telling a person, by Telegram: nothing fails in silence, and a thousand failures do not make a thousand messages."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tidemill import jsontext, retry
from tidemill.errors import PermanentError, RateLimited
from tidemill.settings import Settings
from tidemill.telegram import Telegram
from tidemill.telemetry import Log

REPEAT = 300.0  # seconds in which an equal alert is counted and not sent
BURST = 20  # messages in a minute, as many as a group may get from a bot; what is over is held, and goes out together
AWAY = 30.0  # seconds without another try after Telegram could not be reached
TRIES = 2  # the second one for a connection that had died while the container slept

LONGEST_ALONE, LONGEST_AMONG_OTHERS = 3000, 400  # bytes of an alert's text
MOST_TOGETHER = 10  # different alerts in one message
MOST_HELD = 100  # different alerts that wait
MOST_LABELS = 20  # ids that are named where many jobs are told together


@dataclass
class _Held:
    text: str
    count: int
    labels: list[str] = field(default_factory=list)


@dataclass
class _Told:
    at: float
    repeats: int = 0


class Alerts:
    """Sends alerts to TELEGRAM_ALERT_CHAT_ID. No method raises, and each alert is in the log whether it was sent or not.

    An alert equal to one sent in the last five minutes is counted, and the count stands in the next one. Over twenty
    messages in a minute, in a pause that Telegram asked for, and while it cannot be reached, alerts are held and go out as
    one text: with the next alert after that, or by `flush`, which a function calls before it ends. That the chat has another
    id by now is told once. `clock` tells monotonic seconds.
    """

    def __init__(
        self, settings: Settings, telegram: Telegram, log: Log, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._telegram = telegram
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._left_out = 0
        self._held_jobs: set[int] = set()
        self._told_jobs: deque[int] = deque()
        self._told: dict[str, _Told] = {}
        self._sent: deque[float] = deque(maxlen=BURST)
        self._closed_until = float("-inf")
        self._chat_id = settings.get("TELEGRAM_ALERT_CHAT_ID", "")

    def alert(self, text: str, key: str | None = None) -> None:
        """Tell `text`. Alerts with the same `key` (default: the text) are equal."""
        self._safely(lambda: self._alert(text, key or text))

    def job_failed(self, job_id: int, kind: str, error_class: str, error: str, correlation_id: str | None) -> None:
        """Tell that a job failed for good. Each one is told; many of one kind and error class are told together. One that is
        held already is not told twice."""

        def note() -> None:
            if job_id in self._held_jobs:
                return
            self._held_jobs.add(job_id)
            # The error last: it is what may be cut.
            about = f"Job {job_id} ({kind}) failed for good, correlation id {correlation_id or 'none'}"
            self._note(f"failed {kind} {error_class}", f"{about}\n{error_class}: {error}", label=str(job_id))

        self._safely(note)

    def told_jobs(self) -> list[int]:
        """Take the ids of the failed jobs that somebody has been told of since the last call: what is held is not told."""
        return [self._told_jobs.popleft() for _ in range(len(self._told_jobs))]

    def flush(self) -> None:
        """Send what is held, as far as Telegram takes it."""
        self._safely(self._flush)

    def _safely(self, act: Callable[[], None]) -> None:
        try:
            with self._lock:
                act()
        except BaseException as error:
            self._log.error("nobody was told", reason=type(error).__name__)

    def _alert(self, text: str, key: str) -> None:
        told = self._told.get(key)
        if told is not None and self._clock() - told.at < REPEAT:
            told.repeats += 1
            self._log.warning("alert repeated", alert=self._shown(text))
            return
        self._told.pop(key, None)
        self._note(key, text, repeats=told.repeats if told else 0)

    def _note(self, key: str, text: str, label: str = "", repeats: int = 0) -> None:
        text = self._shown(text)
        self._log.error("alert", alert=text)
        if not (self._settings.get("TELEGRAM_BOT_TOKEN") and self._settings.get("TELEGRAM_ALERT_CHAT_ID")):
            self._log.error("nobody was told", reason="TELEGRAM_BOT_TOKEN and TELEGRAM_ALERT_CHAT_ID are not both set")
            return
        self._hold(key, text, label, 1 + repeats)
        if not self._is_burst():
            self._send()

    def _hold(self, key: str, text: str, label: str, count: int) -> None:
        held = self._held.get(key)
        if held is None:
            if len(self._held) == MOST_HELD:
                self._left_out += count
                return
            self._held[key] = _Held(text, count)
            return
        held.count += count
        if label and len(held.labels) < MOST_LABELS:
            held.labels.append(label)

    def _is_burst(self) -> bool:
        return len(self._sent) == BURST and self._clock() - self._sent[0] < 60

    def _flush(self) -> None:
        self._send()
        if self._held:
            self._log.error("nobody was told yet", alerts=sum(held.count for held in self._held.values()) + self._left_out)

    def _send(self) -> None:
        """Send everything that is held as one text."""
        if not self._held or self._clock() < self._closed_until:
            return
        chat_id = self._chat_id
        fault = self._try(_together(list(self._held.values()), self._left_out))
        if fault is None:
            self._sent.append(self._clock())
            self._forget_old()
            self._told.update({key: _Told(self._clock()) for key in self._held})
        else:
            self._log.error("nobody was told", reason=f"{type(fault).__name__}: {self._shown(str(fault))}")
            if isinstance(fault, RateLimited):
                self._closed_until = self._clock() + retry.pause(fault.retry_after, lambda: 0.0)
                return
            if not isinstance(fault, PermanentError):
                self._closed_until = self._clock() + AWAY
                return
        # Told, or refused for good: to send a refused text again would only stand in the way of the next one.
        self._told_jobs.extend(self._held_jobs)
        self._held_jobs.clear()
        self._held.clear()
        self._left_out = 0
        if self._chat_id != chat_id:
            text = f"the chat {chat_id} has become a supergroup: put its new id {self._chat_id} into TELEGRAM_ALERT_CHAT_ID"
            self._note("moved", text)

    def _forget_old(self) -> None:
        for key in [key for key, told in self._told.items() if not told.repeats and self._clock() - told.at >= REPEAT]:
            del self._told[key]

    def _try(self, text: str) -> Exception | None:
        fault: Exception | None = None
        for _ in range(TRIES):
            try:
                self._chat_id = str(self._telegram.send_message(self._chat_id, text))
                return None
            except (RateLimited, PermanentError) as error:
                return error
            except Exception as error:
                fault = error
        return fault

    def _shown(self, text: str) -> str:
        # Secrets first: a cut could leave half of one, which would not be found.
        return jsontext.clean(self._settings.redact(str(text)[: 10 * LONGEST_ALONE]), LONGEST_ALONE)


def _together(held: list[_Held], left_out: int) -> str:
    """One text of them all."""
    if len(held) == 1 and not left_out:
        return _one(held[0], LONGEST_ALONE)
    total = left_out + sum(one.count for one in held)
    texts = [f"{total} alerts", *(_one(one, LONGEST_AMONG_OTHERS) for one in held[:MOST_TOGETHER])]
    if others := total - sum(one.count for one in held[:MOST_TOGETHER]):
        texts.append(f"and {others} others, which are in the log")
    return "\n\n".join(texts)


def _one(held: _Held, limit: int) -> str:
    text = jsontext.clean(held.text, limit)
    if held.count == 1:
        return text
    names = f": {', '.join(held.labels)}" if held.labels else ""
    names += ", ..." if names and len(held.labels) < held.count - 1 else ""
    return f"{text}\n(and {held.count - 1} more like it{names})"
