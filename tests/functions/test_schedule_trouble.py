"""The steps of the schedule function are apart: what fails is told once, and the others run."""

from __future__ import annotations

import psycopg
import pytest
from tidemill.errors import ConfigurationError
from tidemill.prune import TABLES
from tidemill.wire import Connection

from local.postgres import Postgres
from tests.functions.ticking import BEAT, Bot, MakeTick, bot, make_tick, woken
from tests.queue.conftest import put

__all__ = ["bot", "make_tick", "woken"]


def test_a_step_that_fails_is_told_once_and_the_others_run(
    make_tick: MakeTick, connection: Connection, bot: Bot, woken: list[int]
) -> None:
    tick = make_tick(BEAT)
    put(connection)
    connection.execute("alter table pruning rename to mislaid; alter table schedules rename to gone")
    for _ in range(2):
        answer = tick.run(None, None)
        assert (answer["ok"], answer["failed"]) == (False, ["schedules", "pruning"])
        assert (answer["slots"], answer["reaped"], answer["backlog"]["ready"], answer["pruned"]) == (None, 0, 1, None)
    assert woken == [1, 1]
    assert len(bot.sent) == 2 and "'schedules'" in bot.sent[0] and "'pruning'" in bot.sent[1]
    connection.execute("alter table mislaid rename to pruning; alter table gone rename to schedules")
    assert tick.run(None, None)["ok"] is True
    assert [text.partition(":")[0] for text in bot.sent[2:]] == ["schedules", "pruning"]


def test_where_nobody_can_count_one_drain_is_woken(make_tick: MakeTick, connection: Connection, woken: list[int]) -> None:
    connection.execute("alter table limits rename to gone")
    assert make_tick().run(None, None)["failed"] == ["backlog"]
    assert woken == [1]


def test_a_wake_that_fails_stops_no_pruning(make_tick: MakeTick, connection: Connection) -> None:
    def broken(count: int) -> None:
        raise RuntimeError("no network")

    put(connection)
    answer = make_tick(wake=broken).run(None, None)
    assert answer["failed"] == ["wake"] and answer["pruned"] == dict.fromkeys(TABLES, 0)


def test_a_database_that_is_away_is_told_once_raised_each_time_and_told_when_it_is_back(
    make_tick: MakeTick, postgres: Postgres, connection: Connection, database_url: str, bot: Bot
) -> None:
    """So that the alarm on the function's errors sees it. The database is renamed: nobody can connect to it."""
    name = database_url.partition("?")[0].rpartition("/")[2]
    tick = make_tick(BEAT)
    tick.run(None, None)
    with psycopg.connect(postgres.url(), autocommit=True) as other:
        end = f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
        other.execute(end)  # type: ignore[arg-type]
        other.execute(f"alter database {name} rename to {name}_away")  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(psycopg.OperationalError):
                tick.run(None, None)
        assert len(bot.sent) == 1 and "the database is away" in bot.sent[0]
        other.execute(f"alter database {name}_away rename to {name}")  # type: ignore[arg-type]
    assert tick.run(None, None)["ok"] is True
    assert len(bot.sent) == 2 and "works again" in bot.sent[1]


def test_a_tick_survives_a_restart_of_the_database(make_tick: MakeTick, postgres: Postgres) -> None:
    tick = make_tick(BEAT)
    tick.run(None, None)
    postgres.restart()
    assert tick.run(None, None)["ok"] is True


def test_no_secret_is_in_what_a_failing_step_says(
    make_tick: MakeTick, bot: Bot, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    def leak(count: int) -> None:
        raise RuntimeError("refused for hunter2hunter2")

    put(connection)
    make_tick(wake=leak, SHOP_WEBHOOK_SECRET="hunter2hunter2").run(None, None)
    assert "refused for ***" in bot.sent[0]
    assert "hunter2" not in "".join(bot.sent) + capsys.readouterr().out


@pytest.mark.parametrize("days", ["-1", "many", "nan"])
def test_a_retention_that_is_no_number_is_named_at_the_start(days: str, make_tick: MakeTick) -> None:
    with pytest.raises(ConfigurationError, match="RETENTION_DAYS"):
        make_tick(RETENTION_DAYS=days)
