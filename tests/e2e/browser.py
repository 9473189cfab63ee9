"""A real browser without a window, driven through a pipe. https://chromedevtools.github.io/devtools-protocol/"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 20.0  # seconds

_KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, "")}


class Browser:
    """One page, of `width` by `height` pixels."""

    def __init__(self, width: int = 1280, height: int = 900) -> None:
        assert CHROMIUM is not None
        self._folder = tempfile.TemporaryDirectory(prefix="tidemill-browser-", ignore_cleanup_errors=True)
        to_browser, self._commands = _pipe()
        self._answers, from_browser = _pipe()

        def connect() -> None:  # the browser reads commands from 3 and answers to 4
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            [CHROMIUM, *flags, f"--user-data-dir={self._folder.name}", "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=connect,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._read = b""
        self._session = ""
        self.errors: list[str] = []  # of the page: exceptions, what its policy refused, what it wrote as an error
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")
        self.size(width, height)

    def open(self, url: str) -> None:
        self._send("Page.navigate", url=url)

    def size(self, width: int, height: int, scale: float = 1) -> None:
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def prefer(self, scheme: str) -> None:
        """Prefer light or dark, as a person's system does."""
        self._send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def get(self, script: str) -> Any:
        """The value of an expression in the page. Raises AssertionError where it throws."""
        answer = self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str) -> None:
        """Return once an expression is true. Raises TimeoutError."""
        until = time.monotonic() + PATIENCE
        while not self.get(script):
            if time.monotonic() > until:
                raise TimeoutError(f"{script}\n{self.get('document.body.innerText')}")
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other: Tab, Shift+Tab, Enter, Escape."""
        for key in keys:
            name = key.removeprefix("Shift+")
            code, text = _KEYS[name]
            pressed = {"key": name, "code": name, "windowsVirtualKeyCode": code, "modifiers": 8 if name != key else 0}
            self._send("Input.dispatchKeyEvent", type="keyDown", text=text, **pressed)
            self._send("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def type(self, text: str) -> None:
        self._send("Input.insertText", text=text)

    def click(self, label: str) -> None:
        """Click, as a mouse does, on the first button that reads so and is on the page's top layer."""
        where = (
            "(() => { const top = document.querySelector('dialog[open]') ?? document;"
            f" const found = [...top.querySelectorAll('button')].find(one => one.innerText.trim() === {json.dumps(label)});"
            " found.scrollIntoView({block: 'center'}); const box = found.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2] })()"
        )
        x, y = self.get(where)
        for kind in ("mousePressed", "mouseReleased"):
            self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self._send("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._number, "method": method, "params": parameters, **session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return dict(answer["result"])
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            piece = os.read(self._answers, 1 << 20)
            assert piece, "the browser has ended"
            self._read += piece
        message, _, self._read = self._read.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(about["exceptionDetails"].get("exception", {}).get("description", str(about)))
        if event.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(about["entry"]["text"])


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are out of the way of 3 and 4."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
