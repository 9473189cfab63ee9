"""The operator's page in a real browser, as `make run` serves it. Without chromium there are no tests here."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
import requests
from tidemill.db import connect

from local import gateway, template
from local.functions import Functions
from local.page import CONSOLE, ConsolePage
from tests.conftest import ROOT
from tests.e2e import console_story
from tests.e2e.browser import CHROMIUM, Browser
from tests.e2e.conftest import Shop

SHOWN = "document.querySelector('#page')?.ariaBusy === 'false' && !!document.querySelector('.tidemill footer')"
FITS = "document.documentElement.scrollWidth <= innerWidth"
EVIL = "</cwdb-action><script>document.title = 'broken'</script><img src=x onerror=\"document.title = 'broken'\">"

Visit = Callable[[], Browser]


def test_the_local_run_has_the_page(shop: Shop) -> None:
    answer = requests.get(f"{shop.stack.url}/console", timeout=10)
    assert answer.status_code == 200 and "<title>Tidemill</title>" in answer.text
    assert requests.get(f"{shop.stack.url}/console", headers={"Host": "evil.example"}, timeout=10).status_code == 403


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def visit(browser: Browser, database_url: str) -> Iterator[Visit]:
    """Opens the page of the story's database in the browser; only what a person presses changes something there."""
    with connect(database_url) as connection:
        console_story.tell(connection)
    with ExitStack() as exits:

        def open_page() -> Browser:
            browser.size(1280, 900)
            browser.open(exits.enter_context(PageServer(database_url)).url + CONSOLE)
            browser.wait(SHOWN)
            browser.errors.clear()
            return browser

        yield open_page


class PageServer(ExitStack):
    """The console function and its page, and nothing else of the machine."""

    def __init__(self, database_url: str) -> None:
        super().__init__()
        found = template.read(ROOT / "template.yaml")
        [function] = [one for one in found.functions if one.name == "console"]
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "PYTHONPATH": ":".join([*map(str, function.paths), str(ROOT)]),
            "AUTOMATIONS": "tests.e2e.console_shop",
            "SHOP_WEBHOOK_SECRET": "shop-secret",
            "DATABASE_URL": database_url,
            "DRAIN_FUNCTION": "",
        }
        functions = Functions((function,), environ, lambda name, line: None)
        self.callback(functions.close)
        self.url = self.enter_context(gateway.serve(0, (), functions, {CONSOLE: ConsolePage(functions).answer})).url


if CHROMIUM is not None:

    def text(browser: Browser) -> str:
        return str(browser.get("document.body.innerText"))

    def shows(browser: Browser, said: str) -> None:
        browser.wait(f"{SHOWN} && document.body.innerText.includes({said!r})")

    def focused(browser: Browser) -> str:
        return str(
            browser.get("document.activeElement.innerText || document.activeElement.name || document.activeElement.id")
        )

    def size(picture: bytes) -> tuple[int, int]:
        width, height = struct.unpack(">II", picture[16:24])
        return width, height

    def test_a_failed_job_is_found_and_retried_by_mouse(visit: Visit, database_url: str) -> None:
        browser = visit()
        shows(browser, "7 jobs have failed for good.")
        browser.click("look at them")
        shows(browser, "Telegram sendMessage: status 502: Bad Gateway")
        browser.click("job 1")
        shows(browser, "Failed attempts")
        browser.click("Retry")
        browser.wait("document.querySelector('dialog').open")
        assert "Retry job 1 (order.announce)?" in text(browser)
        browser.click("Confirm")
        shows(browser, "job 1 is back in its line.")
        with psycopg.connect(database_url) as connection:
            assert connection.execute("select status from jobs where id = 1").fetchall() == [("pending",)]
            assert connection.execute("select command from operations where id > 2").fetchall() == [("retry",)]
        assert browser.errors == []

    def test_a_question_that_is_not_confirmed_changes_nothing(visit: Visit, database_url: str) -> None:
        browser = visit()
        browser.click("Resume")
        browser.wait("document.querySelector('dialog').open")
        browser.click("Cancel")
        browser.click("Resume")
        browser.wait("document.querySelector('dialog').open")
        browser.press("Escape")
        browser.click("Failed")
        shows(browser, "Failed jobs")
        with psycopg.connect(database_url) as connection:
            assert connection.execute("select count(*) from operations").fetchall() == [(2,)]

    def test_all_of_it_can_be_done_by_keyboard_in_the_order_of_the_page(visit: Visit) -> None:
        browser = visit()
        order = []
        for _ in range(11):
            browser.press("Tab")
            order.append(focused(browser))
            assert browser.get("getComputedStyle(document.activeElement).outlineStyle") == "solid", order
        assert order[:6] == ["Overview", "Failed", "Rejected", "Operations", "text", "Search"]
        assert order[6:] == ["look at them", "replay them", "3", "1", "2"]
        browser.press("Shift+Tab", "Shift+Tab", "Enter")  # the failed ones of crm.sync
        shows(browser, "Retry all that match")
        assert focused(browser) == "page" or browser.get("document.activeElement.id") == "page"

    def test_enter_in_a_field_presses_its_button(visit: Visit) -> None:
        browser = visit()
        browser.press(*["Tab"] * 5)
        browser.type("shop-1043")
        browser.press("Enter")
        shows(browser, "Jobs found for \u201cshop-1043\u201d")
        assert browser.get("location.pathname + location.search") == "/console"
        assert browser.errors == []  # the form was not sent as well, which the policy would have refused

    def test_the_dialog_is_answered_by_keyboard(visit: Visit) -> None:
        browser = visit()
        browser.click("Resume")
        browser.wait("document.querySelector('dialog').open")
        assert focused(browser) == "Confirm"
        browser.press("Enter")
        shows(browser, "Jobs under the limit crm start again.")

    def test_filters_and_the_count_before_a_bulk_retry(visit: Visit) -> None:
        browser = visit()
        browser.click("Failed")
        shows(browser, "Filter, to retry many at once.")
        browser.get("document.querySelector('[name=error_class]').value = 'KeyError'")
        browser.click("Filter")
        shows(browser, "Retry all that match")
        browser.click("Retry all that match \u2026")
        shows(browser, "2 failed jobs would be retried. Nothing has been changed yet.")
        browser.click("Retry 2 failed jobs")
        browser.wait("document.querySelector('dialog').open")
        browser.click("Confirm")
        shows(browser, "2 of 2 failed jobs are back in their lines.")

    def test_going_back_shows_what_was_there_and_changes_nothing(visit: Visit, database_url: str) -> None:
        browser = visit()
        browser.click("Pause 10 min")
        browser.wait("document.querySelector('dialog').open")
        browser.click("Confirm")
        shows(browser, "The limit mail is paused")
        browser.click("Operations")
        shows(browser, "outcome")
        browser.get("history.back()")
        shows(browser, "Jobs by kind")
        with psycopg.connect(database_url) as connection:
            assert connection.execute("select count(*) from operations").fetchall() == [(3,)]

    def test_what_is_in_a_row_is_not_obeyed(visit: Visit, database_url: str) -> None:
        with connect(database_url) as connection:
            connection.execute(
                "insert into jobs (kind, payload, status, finished_at, error_class, last_error)"
                " values (%(evil)s, to_json(%(evil)s::text), 'failed', now(), %(evil)s, %(evil)s)",
                {"evil": EVIL},
            )
        browser = visit()
        browser.click("Failed")
        shows(browser, "Failed jobs")
        assert browser.get(f"document.body.innerText.includes({EVIL!r})")
        assert browser.get("[document.title, document.querySelectorAll('.tidemill script, .tidemill img').length]") == [
            "Tidemill",
            0,
        ]
        assert browser.errors == []

    @pytest.mark.parametrize("width", [1280, 900, 600, 400])
    def test_no_view_is_wider_than_its_window(visit: Visit, width: int) -> None:
        browser = visit()
        browser.size(width, 900)
        for tab in ("Failed", "Rejected", "Operations", "Overview"):
            browser.click(tab)
            browser.wait(f"{SHOWN} && document.querySelector('[aria-current]').innerText === {tab!r}")
            assert browser.get(FITS), (tab, width)
        browser.click("Failed")
        shows(browser, "Failed jobs")
        browser.click("job 5")
        shows(browser, "Failed attempts")
        assert browser.get(FITS)
        browser.click("event 5")
        shows(browser, "What became of it")
        assert browser.get(FITS)

    def test_it_is_light_or_dark_as_the_system_is(visit: Visit) -> None:
        browser = visit()
        grounds = []
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            grounds.append(browser.get("getComputedStyle(document.querySelector('.tidemill')).backgroundColor"))
        assert grounds == ["rgb(255, 255, 255)", "rgb(16, 21, 28)"]

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_its_words_stand_out_from_their_ground(visit: Visit, scheme: str) -> None:
        """WCAG 2 asks for a contrast of 4.5."""
        browser = visit()
        browser.prefer(scheme)
        for label in ("Overview", "Failed", "job 1", "event 1"):
            browser.click(label)
            shows(browser, {"job 1": "Failed attempts", "event 1": "What became of it"}.get(label, "Refresh"))
            assert browser.get(Path(__file__).with_name("contrast.js").read_text("utf-8")) == []

    def test_a_local_run_that_was_started_anew_takes_the_page_along(visit: Visit) -> None:
        browser = visit()
        browser.get(
            "window.old = true; const fetched = fetch; fetch = (at, how) => fetched(at, {...how, headers: {}}); true"
        )
        browser.click("Failed")
        browser.wait("window.old === undefined")
        browser.wait(SHOWN)
