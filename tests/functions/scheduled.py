"""An automation for the tests of the operator: a digest each morning."""

from __future__ import annotations

from typing import Any

from tidemill import daily, handler


@daily("09:00", tz="Europe/Rome", name="digest")
@handler("orders.digest")
def digest(job: Any, ctx: Any) -> None: ...
