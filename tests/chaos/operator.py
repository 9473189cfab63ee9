"""The operator: gives the commands of the plan to the replay function, each on something that fits it at that time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.chaos.ground import Hands
from tests.chaos.plan import Command
from tests.chaos.slots import Slot

LIMIT = "provider"

_targets = {
    "retry": ("jobs", "status = 'failed'"),
    "force": ("jobs", "status = 'done'"),
    "cancel": ("jobs", "status in ('pending', 'failed')"),
    "show": ("jobs", "true"),
    "replay": ("events", "true"),
    "replay force": ("events", "true"),
}


class Operator:
    """`outcomes` counts what came of the commands."""

    def __init__(self, slot: Slot, hands: Hands, commands: tuple[Command, ...]) -> None:
        self._slot = slot
        self._hands = hands
        self._commands = commands
        self.outcomes: Counter[str] = Counter()

    def run(self, until: threading.Event, since_start: Callable[[], float], ended: threading.Event) -> None:
        """Give each command at its time; and when faults have stopped, resume what was paused for good."""
        for command in self._commands:
            if until.wait(max(command.at - since_start(), 0.0)):
                break
            if (given := self._command(command)) is not None:
                self._give(command.what, given)
        until.wait()
        while not ended.is_set() and not self._give("resume", {"command": "resume", "limit": LIMIT}):
            ended.wait(0.2)

    def _give(self, what: str, command: dict[str, Any]) -> bool:
        answer = self._slot.invoke({**command, "by": "chaos"})
        code = "no answer" if answer is None else "ok" if answer["ok"] else answer["error"]["code"]
        if code == "invalid":
            raise AssertionError(f"{command} was answered with {answer}")
        self.outcomes[f"{what}: {code}"] += 1
        return code == "ok"

    def _command(self, command: Command) -> dict[str, Any] | None:
        """The command with its target, None where there is nothing to do it to."""
        target = None
        if command.what in _targets:
            table, condition = _targets[command.what]
            if (target := self._hands.pick(condition, command.rank, table)) is None:
                return None
        match command.what:
            case "retry" | "cancel" | "show":
                return {"command": command.what, "job": target}
            case "force":
                return {"command": "retry", "job": target, "force": True}
            case "replay" | "replay force":
                return {"command": "replay", "event": target, "force": command.what == "replay force"}
            case "retry kind":
                return {"command": "retry", "kind": "chaos.flaky" if command.rank < 0.5 else "chaos.permanent"}
            case "replay many":
                return {"command": "replay", "source": "chaos", "since": "1m", "dry_run": True}
            case "pause":
                return {"command": "pause", "limit": LIMIT, "for": 1}
            case "pause for good":
                return {"command": "pause", "limit": LIMIT}
            case "resume":
                return {"command": "resume", "limit": LIMIT}
        return {"command": command.what}
