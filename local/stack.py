"""The whole machine in one object: what `make run`, the demo and the end-to-end tests start and end."""

from __future__ import annotations

import fcntl
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from tidemill import migrations
from tidemill.errors import ConfigurationError

from local import development, gateway, lambda_api, needs, queues, template, ticks
from local.cloudformation import REGION
from local.functions import Functions
from local.mail import MailProvider
from local.page import CONSOLE, ConsolePage
from local.postgres import Postgres
from local.telegram import Telegram

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".tidemill"


class Line(NamedTuple):
    """A line of output: the name of a function, or `telegram` or `mail` for a message that was sent."""

    name: str
    text: str


class Stack:
    """Postgres, gateway, functions, schedules, stand-ins for Telegram and a mail provider, from `__enter__` to `__exit__`.

    `environ` holds settings, which all functions get; with DATABASE_URL no Postgres is started, with TELEGRAM_BOT_TOKEN no
    Telegram, with MAIL_API no mail provider; with PARKING_QUEUE_URL and JOBS_QUEUE_URL these queues are used. `folder` keeps
    the data and the secrets; port 0 takes a free one. `say` gets each line as it comes; `grace` is how many seconds the
    running invocations have at the end.
    """

    url: str
    lambda_url: str
    database_url: str
    sources: list[str]
    settings: dict[str, str]
    telegram: Telegram | None = None
    mail: MailProvider | None = None

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        port: int = 0,
        folder: Path = FOLDER,
        source: Path = ROOT / "template.yaml",
        say: Callable[[Line], None] = lambda line: None,
        grace: float = 0,
    ) -> None:
        self.secrets_file = folder / "settings.env"
        self.lines: list[Line] = []
        self._environ = {name: value for name, value in environ.items() if not name.startswith("AWS_")}
        self._port = port
        self._folder = folder
        self._template = template.read(source)
        self._say_line = say
        self._grace = grace
        self._news = threading.Condition()
        self._ending = threading.Event()
        self._exits = ExitStack()

    def __enter__(self) -> Stack:
        """Raises ConfigurationError, and OSError where the port is taken."""
        with self._exits:
            self._start()
            self._exits = self._exits.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        self._exits.close()

    def invoke(self, name: str, event: object) -> Any:
        """Invoke a function (drain, replay, ...) and wait for its result. Raises InvokeError."""
        return self._functions.invoke(name, event)

    def processes(self, name: str) -> list[int]:
        """The ids of the processes of a function."""
        return self._functions[name].processes()

    def wait_for(self, text: str, name: str = "", timeout: float = 30) -> Line:
        """The first line with `text` in it, of the function `name` if given, once there is one. Raises TimeoutError."""

        def found() -> Line | None:
            return next((one for one in self.lines if text in one.text and name in ("", one.name)), None)

        with self._news:
            line = self._news.wait_for(found, timeout)
        if line is None:
            raise TimeoutError(f"no line with {text!r} within {timeout:g} s")
        return line

    def _start(self) -> None:
        paths = dict.fromkeys(str(path) for one in self._template.functions for path in one.paths)
        python_path = ":".join([*paths, *filter(None, [self._environ.get("PYTHONPATH")])])
        self.settings = {**self._environ, "PYTHONPATH": python_path}
        needed = needs.ask(self.settings)
        self.sources = list(needed)
        made_up = [name for names in needed.values() for name in names if not self._environ.get(name)]
        self.settings = {**development.complete(self.secrets_file, made_up), **self.settings}
        self.database_url = self.settings.get("DATABASE_URL") or self._start_postgres()
        migrations.migrate(self.database_url, ROOT / "sql")
        if not self.settings.get("TELEGRAM_BOT_TOKEN"):
            self._start_telegram()
        if not self.settings.get("MAIL_API"):
            self._start_mail()
        api = self._exits.enter_context(lambda_api.serve(lambda name: self._functions[name]))
        self.lambda_url = api.url
        self.settings |= {
            "DATABASE_URL": self.database_url,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL_LAMBDA": api.url,
        }
        self._functions = Functions(self._template.functions, self.settings, self._say)
        self._exits.callback(self._functions.close, self._grace)
        pages = {CONSOLE: ConsolePage(self._functions).answer}
        server = gateway.serve(self._port, self._template.routes, self._functions, pages)
        self._exits.enter_context(server)
        self.url = server.url
        for tick in self._template.ticks:
            ticks.start(tick, self._functions[tick.function].invoke_later, self._ending)
        for setting, function in queues.FUNCTIONS.items():
            if url := self.settings.get(setting):
                thread = queues.start(url, partial(self._functions.invoke, function), self._ending)
                self._exits.callback(thread.join)

    def _start_postgres(self) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = self._exits.enter_context((self._folder / "lock").open("w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(f"another local run works in {self._folder}: end it first") from None
        return self._exits.enter_context(Postgres(self._folder / "postgres")).url()

    def _start_telegram(self) -> None:
        self.telegram = Telegram(partial(self._say, "telegram"))
        self._exits.callback(self.telegram.close)
        self.settings["TELEGRAM_API"] = self.telegram.url
        self.settings["TELEGRAM_BOT_TOKEN"] = f"1:{secrets.token_hex(16)}"
        self.settings["TELEGRAM_ALERT_CHAT_ID"] = self.settings.get("TELEGRAM_ALERT_CHAT_ID") or "1"

    def _start_mail(self) -> None:
        self.mail = MailProvider(partial(self._say, "mail"))
        self._exits.callback(self.mail.close)
        self.settings |= {"MAIL_API": self.mail.url, "MAIL_API_KEY": secrets.token_hex(16)}

    def _say(self, name: str, text: str) -> None:
        line = Line(name, text)
        with self._news:
            self.lines.append(line)
            self._news.notify_all()
        self._say_line(line)
