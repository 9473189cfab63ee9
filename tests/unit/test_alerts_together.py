from __future__ import annotations

import threading

import pytest
from tidemill.alerts import BURST, MOST_HELD, REPEAT, Alerts
from tidemill.errors import PermanentError, RateLimited, RequestFailed

from tests.unit.chat import Chat, Clock, fail, lines, made


def test_two_hundred_equal_alerts_are_one_and_the_next_one_counts_them(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    """B89"""
    for _ in range(200):
        alerts.alert("the database is away")
    assert chat.texts == ["the database is away"]
    clock.now += REPEAT
    alerts.alert("the database is away")
    assert chat.texts[1:] == ["the database is away\n(and 199 more like it)"]


def test_equal_alerts_from_many_threads_are_one(clock: Clock) -> None:
    """B89"""

    class SlowChat(Chat):
        def send_message(self, chat_id: object, text: str) -> object:
            threading.Event().wait(0.02)  # as long as the others need to come this far, if nothing holds them up
            return super().send_message(chat_id, text)

    chat = SlowChat()
    alerts = made(chat, clock)
    threads = [threading.Thread(target=alerts.alert, args=("the database is away",)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert chat.texts == ["the database is away"]


def test_repeats_are_counted_once_where_the_next_one_is_not_sent(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    alerts.alert("a")
    alerts.alert("a")
    clock.now += REPEAT
    chat.faults = [RequestFailed("away")] * 2
    alerts.alert("a")
    clock.now += 31
    alerts.alert("a")
    assert chat.texts == ["a", "a\n(and 2 more like it)"]


def test_repeats_are_not_forgotten_over_another_alert(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    alerts.alert("a")
    alerts.alert("a")
    clock.now += REPEAT
    alerts.alert("b")
    alerts.alert("a")
    assert chat.texts == ["a", "b", "a\n(and 1 more like it)"]


def test_what_is_held_does_not_grow_without_end(alerts: Alerts, chat: Chat) -> None:
    chat.faults = [RateLimited(3600)]
    for number in range(1000):
        alerts.alert(f"trouble {number}")
    assert len(alerts._held) == MOST_HELD


def test_a_key_makes_alerts_equal(alerts: Alerts, chat: Chat) -> None:
    alerts.alert("late by 61 s", key="late")
    alerts.alert("late by 62 s", key="late")
    alerts.alert("late by 62 s")
    assert chat.texts == ["late by 61 s", "late by 62 s"]


def test_an_alert_that_reached_nobody_is_not_taken_for_told(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    chat.faults = [RequestFailed("away")] * 2
    alerts.alert("the line is old")
    clock.now += 31
    alerts.alert("the line is old")
    assert chat.texts == ["the line is old\n(and 1 more like it)"]


def test_two_hundred_failed_jobs_make_a_few_messages_and_none_is_left_out(alerts: Alerts, chat: Chat) -> None:
    """B89"""
    for job_id in range(1, 201):
        fail(alerts, job_id)
    assert len(chat.texts) == BURST
    alerts.flush()
    assert len(chat.texts) == BURST + 1
    first, more = chat.texts[-1].rsplit("\n", 1)
    assert first.startswith(
        f"Job {BURST + 1} (order.announce) failed for good, correlation id c-{BURST + 1}\nPermanentError: no number"
    )
    assert more == f"(and 179 more like it: {', '.join(str(number) for number in range(22, 42))}, ...)"


def test_what_was_held_goes_out_with_the_next_alert_after_the_burst(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    for job_id in range(1, BURST + 2):
        fail(alerts, job_id)
    clock.now += 61
    alerts.alert("the line is old")
    assert chat.texts[BURST:] == [
        "2 alerts\n\n"
        f"Job {BURST + 1} (order.announce) failed for good, correlation id c-{BURST + 1}\nPermanentError: no number\n\n"
        "the line is old"
    ]


def test_different_alerts_that_are_held_make_one_text_and_the_rest_is_counted(alerts: Alerts, chat: Chat) -> None:
    """B89"""
    for number in range(BURST + 200):
        alerts.alert(f"trouble {number}")
    alerts.flush()
    assert len(chat.texts) == BURST + 1
    first, *told, last = chat.texts[-1].split("\n\n")
    assert first == "200 alerts"
    assert told == [f"trouble {number}" for number in range(BURST, BURST + 10)]
    assert last == "and 190 others, which are in the log"


def test_the_pause_that_telegram_asks_for_is_kept(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    """B89"""
    chat.faults = [RateLimited(37)]
    fail(alerts, 1)
    clock.now += 36.9
    fail(alerts, 2)
    alerts.flush()
    assert chat.tries == 1
    clock.now += 0.1
    alerts.flush()
    assert len(chat.texts) == 1
    assert chat.texts[0].startswith("Job 1 ") and chat.texts[0].endswith("(and 1 more like it: 2)")


def test_a_pause_of_unsaid_length_is_ten_seconds(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    chat.faults = [RateLimited()]
    alerts.alert("a")
    clock.now += 9
    alerts.alert("b")
    assert chat.tries == 1
    clock.now += 1
    alerts.alert("c")
    assert chat.texts == ["3 alerts\n\na\n\nb\n\nc"]


def test_an_unreachable_telegram_is_not_tried_for_each_alert(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    chat.faults = [RequestFailed("away")] * 1000
    for job_id in range(100):
        fail(alerts, job_id)
    assert chat.tries == 2
    chat.faults = []
    clock.now += 31
    alerts.flush()
    assert chat.texts[0].splitlines()[-1].startswith("(and 99 more like it: 1, 2, 3, ")


def test_a_flush_with_alerts_left_says_so(alerts: Alerts, chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    chat.faults = [RequestFailed("away")] * 2
    alerts.alert("a")
    alerts.alert("b")
    capsys.readouterr()
    alerts.flush()
    (line,) = lines(capsys)
    assert (line["message"], line["alerts"]) == ("nobody was told yet", 2)


def test_a_flush_with_nothing_to_say_is_silent(alerts: Alerts, chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    alerts.flush()
    assert (chat.tries, capsys.readouterr().out) == (0, "")


def test_a_refused_text_does_not_stand_in_the_way_of_the_next(alerts: Alerts, chat: Chat) -> None:
    """B88"""
    chat.faults = [PermanentError("chat not found")]
    alerts.alert("a")
    alerts.alert("b")
    assert chat.texts == ["b"]
    assert chat.tries == 2


def test_a_failed_job_counts_as_told_only_once_its_alert_was_sent(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    chat.faults = [RequestFailed("away")] * 2
    fail(alerts, 1)
    assert alerts.told_jobs() == []
    clock.now += 31
    fail(alerts, 2)
    assert (sorted(alerts.told_jobs()), alerts.told_jobs()) == ([1, 2], [])


def test_a_failed_job_that_is_held_is_not_told_twice(alerts: Alerts, chat: Chat, clock: Clock) -> None:
    chat.faults = [RequestFailed("away")] * 2
    for _ in range(3):
        fail(alerts, 1)
    clock.now += 31
    alerts.flush()
    assert len(chat.texts) == 1 and "more like it" not in chat.texts[0]


def test_a_failed_job_whose_alert_is_refused_for_good_is_not_told_again(alerts: Alerts, chat: Chat) -> None:
    chat.faults = [PermanentError("no such chat")]
    fail(alerts, 1)
    assert alerts.told_jobs() == [1]
