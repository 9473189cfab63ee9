"""tidemill tail: how it goes on, and what its lines say."""

from __future__ import annotations

from typing import Any

import pytest
from tidemill.cli.tail import follow, line
from tidemill.cli.target import Unreachable
from tidemill.settings import Settings

AT = "2027-04-30T09:00:00.5+00:00"


class Answers:
    """A target that answers these, one after the other, and then stops whoever follows."""

    def __init__(self, *answers: dict[str, Any] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.pauses = 0

    def run(self, command: Any) -> dict[str, Any]:
        self.asked.append(command["after"])
        if not self.answers:
            raise KeyboardInterrupt
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def settings(self) -> Settings:
        return Settings({})

    def pause(self) -> None:
        self.pauses += 1

    def follow(self) -> list[Any]:
        found: list[Any] = []
        with pytest.raises(KeyboardInterrupt):
            for news in follow(self, "a", self.pause):
                found.append(news)
        return found


def test_each_look_goes_on_from_the_one_before() -> None:
    target = Answers({"news": [1, 2], "more": False, "after": "b"}, {"news": [], "more": False, "after": "c"})
    assert target.follow() == [1, 2]
    assert (target.asked, target.pauses) == (["a", "b", "c"], 2)


def test_where_there_is_more_it_does_not_pause() -> None:
    target = Answers({"news": [1], "more": True, "after": "b"}, {"news": [2], "more": False, "after": "c"})
    assert target.follow() == [1, 2]
    assert target.pauses == 1


def test_what_is_away_for_a_time_is_told_once_and_nothing_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    target = Answers(Unreachable("away"), Unreachable("away"), {"news": [1], "more": False, "after": "b"})
    assert target.follow() == [1]
    assert target.asked == ["a", "a", "a", "b"]
    assert capsys.readouterr().err.splitlines() == ["away; trying again", "it is back"]


@pytest.mark.parametrize(
    ("news", "said"),
    [
        ({"what": "event", "id": 7, "source": "shop", "jobs": 2, "route_error": None}, "event 7       shop  2 jobs"),
        (
            {"what": "event", "id": 7, "source": "shop", "jobs": 0, "route_error": "KeyError: 'type'\nmore"},
            "event 7       shop  no jobs: KeyError: 'type'",
        ),
        (
            {"what": "attempt", "job": 42, "kind": "order.bill", "attempt": 3, "error_class": "KeyError", "error": "number"},
            "job 42        order.bill  attempt 3 failed: KeyError: number",
        ),
        (
            {"what": "job", "job": 42, "kind": "a", "status": "done", "attempts": 1, "error_class": None, "error": None},
            "job 42        a  done",
        ),
        (
            {"what": "job", "job": 42, "kind": "a", "status": "done", "attempts": 2, "error_class": "E", "error": "old"},
            "job 42        a  done with attempt 2",
        ),
        (
            {"what": "job", "job": 42, "kind": "a", "status": "failed", "attempts": 8, "error_class": "E", "error": "x"},
            "job 42        a  failed: E: x",
        ),
        (
            {"what": "operation", "id": 1, "by": "ann", "command": "retry", "arguments": '{"job": 42}'},
            'ann           retry {"job": 42}',
        ),
        (
            {"what": "event", "id": 7, "source": "[red]\x1b[2J", "jobs": 0, "route_error": None},
            "event 7       [red]\\x1b[2J  0 jobs",
        ),
    ],
)
def test_a_line_says_what_happened(news: dict[str, Any], said: str) -> None:
    assert line({**news, "at": AT}).plain == f"09:00:00Z  {said}"
