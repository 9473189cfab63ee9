"""The queues and what receives from them."""

from __future__ import annotations

from typing import Any

import pytest
from tidemill.absorb import LONGEST_PAUSE
from tidemill.consume import MOST_RECEIVES
from tidemill.park import BATCH
from tidemill.settlement import LONGEST_HIDDEN

QUEUES = {"JobsQueue": ("Consume", "JobsDeadLetterQueue"), "ParkingQueue": ("Absorb", "ParkingDeadLetters")}
DAY = 86400


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_hides_a_message_for_six_times_as_long_as_its_function_runs(translated: dict[str, Any], queue: str) -> None:
    """B95"""
    function = f"{QUEUES[queue][0]}Function"
    [mapping] = [
        one["Properties"]
        for one in translated["Resources"].values()
        if one["Type"] == "AWS::Lambda::EventSourceMapping"
        and one["Properties"]["EventSourceArn"] == {"Fn::GetAtt": [queue, "Arn"]}
    ]
    assert mapping["FunctionName"] == {"Ref": function}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": {"Ref": f"{QUEUES[queue][0]}Concurrency"}}
    assert mapping["BatchSize"] == BATCH == 10  # as many as one call puts off
    timeout = translated["Resources"][function]["Properties"]["Timeout"]
    assert translated["Resources"][queue]["Properties"]["VisibilityTimeout"] >= 6 * timeout


@pytest.mark.parametrize("queue", QUEUES)
def test_what_nobody_could_take_is_kept_for_a_person(translated: dict[str, Any], queue: str) -> None:
    alive, dead = (translated["Resources"][name]["Properties"] for name in (queue, QUEUES[queue][1]))
    assert alive["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": [QUEUES[queue][1], "Arn"]}
    assert alive["MessageRetentionPeriod"] == dead["MessageRetentionPeriod"] == 14 * DAY
    assert alive["SqsManagedSseEnabled"] and dead["SqsManagedSseEnabled"]


def test_the_queue_gives_up_on_a_job_when_the_consumer_gives_it_back_to_its_line(translated: dict[str, Any]) -> None:
    queue = translated["Resources"]["JobsQueue"]["Properties"]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == MOST_RECEIVES
    consume = translated["Resources"]["ConsumeFunction"]["Properties"]
    assert LONGEST_HIDDEN + consume["Timeout"] < 12 * 3600  # what SQS allows from the receipt


def test_a_database_that_is_away_for_days_uses_up_no_receives_of_a_parked_event(translated: dict[str, Any]) -> None:
    receives = translated["Resources"]["ParkingQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"]
    assert receives <= 1000  # the most that SQS takes
    assert receives * LONGEST_PAUSE > 3 * DAY


def test_the_intake_parks_where_absorb_takes_from(functions: dict[str, dict[str, Any]]) -> None:
    intake, absorb = (functions[name]["Environment"]["Variables"] for name in ("intake", "absorb"))
    assert intake["PARKING_QUEUE_URL"] == absorb["PARKING_QUEUE_URL"]
    assert intake["PARKING_QUEUE_URL"]["Fn::If"][2] == {"Ref": "ParkingQueue"}
    assert intake["INTAKE"] == {"Ref": "IntakeMode"}
