"""python -m tests.e2e.pictures: take the pictures of the console page that the documentation shows."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tidemill import migrations
from tidemill.db import connect

from local.page import CONSOLE
from local.postgres import FAST, Postgres
from tests.conftest import ROOT
from tests.e2e import console_story
from tests.e2e.browser import Browser
from tests.e2e.test_console_page import SHOWN, PageServer

WIDTH = 1120
PICTURES = {
    "console.png": ("light", []),
    "console-failed.png": ("light", ["Failed"]),
    "console-event.png": ("dark", ["Failed", "job 3", "event 3"]),
}


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tidemill-pictures-"))
    try:
        with Postgres(folder / "data", FAST) as server:
            migrations.migrate(server.url(), ROOT / "sql")
            with connect(server.url()) as connection:
                console_story.tell(connection)
            for name, (scheme, presses) in PICTURES.items():
                (ROOT / "docs" / name).write_bytes(_take(server.url(), scheme, presses))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take(database_url: str, scheme: str, presses: list[str]) -> bytes:
    with PageServer(database_url) as server, Browser(WIDTH, 400) as browser:
        browser.prefer(scheme)
        browser.open(server.url + CONSOLE)
        browser.wait(SHOWN)
        for label in presses:
            browser.wait(f"document.body.innerText.includes('{label}')")
            browser.click(label)
            browser.wait(f"{SHOWN} && history.state.view === '{label.split()[0].lower()}'")
        browser.size(WIDTH, int(browser.get("document.querySelector('.tidemill').scrollHeight")), scale=1.5)
        return browser.picture()


if __name__ == "__main__":
    main()
