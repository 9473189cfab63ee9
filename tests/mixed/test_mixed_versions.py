"""Old code on the new schema, and new code on the rows that old code has left: no deploy needs an empty queue."""

from __future__ import annotations

import psycopg
import pytest

from tests.mixed.code import Code

KINDS = ("plain", "limited", "flow", "stubborn")


def test_each_version_imports_its_own_library(old: Code, new: Code) -> None:
    assert old.imported_from().is_relative_to(old.tree) and new.imported_from().is_relative_to(new.tree)
    assert old.tree != new.tree


def test_old_code_works_on_the_new_schema(old: Code, database_url: str) -> None:
    deliver_each(old, database_url, "a")
    old.run("drain", database_url)
    assert old.deliver(database_url, "a", signal="go:a-flow") == 202
    wake_sleepers(database_url)
    old.run("schedule", database_url)
    old.run("drain", database_url)
    assert statuses(database_url) == ended("a")
    assert old.run("replay", database_url, {"command": "retry", "kind": "stubborn", "by": "a test"})["changed"] == 1


def test_old_code_migrates_a_database_with_the_new_schema_to_itself(old: Code, database_url: str) -> None:
    """A deploy that is rolled back runs the old migrate function once more."""
    old.migrate(database_url)


@pytest.mark.parametrize("first, second", [("old", "new"), ("new", "old")])
def test_what_one_version_took_the_other_runs(first: str, second: str, old: Code, new: Code, database_url: str) -> None:
    codes = {"old": old, "new": new}
    deliver_each(codes[first], database_url, "a")
    assert codes[second].deliver(database_url, "a-plain", kind="plain") == 202  # the same delivery: no second job
    codes[second].run("drain", database_url)
    assert codes[first].deliver(database_url, "a", signal="go:a-flow") == 202
    wake_sleepers(database_url)
    codes[second].run("schedule", database_url)
    codes[first].run("drain", database_url)
    assert statuses(database_url) == ended("a")


def test_new_code_finishes_what_old_code_left_in_an_old_database(old: Code, new: Code, empty_url: str) -> None:
    old.migrate(empty_url)
    deliver_each(old, empty_url, "a")
    old.run("drain", empty_url)
    deliver_each(old, empty_url, "b")
    with psycopg.connect(empty_url, autocommit=True) as connection:  # as a worker of the old code leaves it that is killed
        connection.execute(
            "update jobs set status = 'running', attempts = 1, claim_id = 1, locked_until = now() - interval '1 s'"
            " where kind = 'plain' and status = 'pending'"
        )
    new.migrate(empty_url)
    for name in ("a", "b"):
        assert new.deliver(empty_url, name, signal=f"go:{name}-flow") == 202
    new.run("schedule", empty_url)
    wake_sleepers(empty_url)
    new.run("drain", empty_url)
    assert statuses(empty_url) == {**ended("a"), **ended("b")}


def deliver_each(code: Code, url: str, name: str) -> None:
    assert {code.deliver(url, f"{name}-{kind}", kind=kind, tenant=name) for kind in KINDS} == {202}


def ended(name: str) -> dict[str, str]:
    return {f"{name}-{kind}": "failed" if kind == "stubborn" else "done" for kind in KINDS}


def statuses(url: str) -> dict[str, str]:
    with psycopg.connect(url) as connection:
        return dict(connection.execute("select key, status from jobs where kind <> 'slot'").fetchall())


def wake_sleepers(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("update jobs set run_at = now() where status = 'pending'")
