"""The old code and the new, side by side on one database, as they are for some seconds of each deploy."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from local.postgres import Postgres
from tests.mixed.code import ROOT, Code, before_the_newest_migration, check_out

OLD = before_the_newest_migration()

# A copy without the history (an archive, a shallow clone) has no old code to run.
collect_ignore = [] if OLD else ["test_mixed_versions.py"]


@pytest.fixture(scope="session")
def old(tmp_path_factory: pytest.TempPathFactory) -> Code:
    assert OLD is not None
    return check_out(OLD, tmp_path_factory.mktemp("old"))


@pytest.fixture(scope="session")
def new() -> Code:
    return Code(ROOT)


@pytest.fixture
def empty_url(postgres: Postgres) -> Iterator[str]:
    """A database without any schema."""
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("create database mixed")
    yield postgres.url("mixed")
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("drop database mixed with (force)")
