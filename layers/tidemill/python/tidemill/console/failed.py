"""What has failed for good, by kind, error and time, and what can be done about one of them or about all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemill.console.html import Child, Html, join, tag
from tidemill.console.page import Page, counted
from tidemill.console.parts import empty, error, field, quiet, section, table

FILTERS = ("kind", "error_class", "since")

_since = {"": "any time", "1h": "the last hour", "24h": "the last 24 hours", "7d": "the last 7 days"}


def failed(page: Page, given: Mapping[str, Any]) -> Html:
    """`given` holds the filters; `after`, the cursor of this page; and `trail`, the cursors of the pages before it."""
    filters = {name: given[name] for name in FILTERS if given.get(name) is not None}
    found = page.ask("failed", **filters, after=given.get("after"))
    here = {"view": "failed", **filters, "after": given.get("after"), "trail": _trail(given)}
    return section(
        "Failed jobs",
        _form(page, filters),
        table(["job", "failed", "error", "change"], (_row(page, job, here) for job in found["jobs"]))
        if found["jobs"]
        else _nothing(page, filters),
        _pages(page, here, found["after"]),
        buttons=_retry_all(page, filters) if found["jobs"] else None,
    )


def _row(page: Page, job: Mapping[str, Any], here: Mapping[str, Any]) -> list[Child]:
    return [
        tag("div", page.job(job["id"]), tag("code", job["kind"]), class_="stack"),
        tag("div", page.time(job["failed_at"]), quiet(counted(job["attempts"], "attempt")), class_="stack"),
        error(job["error_class"], job["last_error"]),
        tag("div", retry_button(page, job, here, look=""), cancel_button(page, job, here), class_="buttons"),
    ]


def retry_button(page: Page, job: Mapping[str, Any], here: Mapping[str, Any], look: str = "primary") -> Html:
    question = f"Retry job {job['id']} ({job['kind']})? It gets a fresh budget of attempts."
    return page.button("Retry", {**here, "do": {"command": "retry", "job": job["id"]}}, confirm=question, look=look)


def cancel_button(page: Page, job: Mapping[str, Any], here: Mapping[str, Any]) -> Html:
    question = f"Give up job {job['id']} ({job['kind']})? It ends without having been done."
    return page.button("Cancel", {**here, "do": {"command": "cancel", "job": job["id"]}}, confirm=question, look="danger")


def _form(page: Page, filters: Mapping[str, Any]) -> Html:
    kinds = [kind for kind, counts in page.ask("stats")["kinds"].items() if counts["failed"]]
    chosen = filters.get("kind")
    choices = {"": "any kind", **{kind: kind for kind in [*kinds, *([chosen] if isinstance(chosen, str) else [])]}}
    times = _since | ({str(since): str(since)} if (since := filters.get("since")) and since not in _since else {})
    return tag(
        "form",
        field("kind", "kind", filters.get("kind"), choices),
        field("error class", "error_class", filters.get("error_class"), hint="any"),
        field("failed within", "since", filters.get("since"), times),
        page.button("Filter", {"view": "failed", "form": list(FILTERS)}),
        page.link("clear", {"view": "failed"}) if filters else None,
        class_="filters",
    )


def _nothing(page: Page, filters: Mapping[str, Any]) -> Html:
    if filters:
        return empty("No failed job matches this.")
    return empty("No job has failed for good. Those that fail now and are tried again are no trouble yet.")


def _retry_all(page: Page, filters: Mapping[str, Any]) -> Html:
    if not filters:
        return quiet("Filter, to retry many at once.")
    return page.button("Retry all that match \u2026", {"view": "plan", "of": {"command": "retry", **filters}})


def _pages(page: Page, here: Mapping[str, Any], after: str | None) -> Html:
    trail, current = here["trail"], here["after"]
    newer = page.button("Newer", {**here, "after": trail[-1], "trail": trail[:-1]}) if trail else None
    older = page.button("Older", {**here, "after": after, "trail": [*trail, current]}) if after else None
    return tag("div", newer, older, class_="pages") if newer or older else join()


def _trail(given: Mapping[str, Any]) -> list[Any]:
    return trail if isinstance(trail := given.get("trail"), list) else []
