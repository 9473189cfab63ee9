"""One process of one function under the real Lambda runtime client, with a Runtime API of its own.

Its own, so that nothing of a process outlives it: a dead one's waiting `next` cannot swallow an event of its successor.
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from local.cloudformation import arn
from local.server import Handler, Server
from local.template import Function

# Lambda gives an import 10 s; a busy laptop may need longer.
INIT_SECONDS = 30.0
_LARGEST_ANSWER = 6 * 1024 * 1024


class Answer(NamedTuple):
    """What an invocation came to: the JSON text of the result, or of the error where `failed`."""

    payload: bytes
    failed: bool = False


class _Invocation(NamedTuple):
    request_id: str
    event: bytes


class Sandbox:
    """Starts its process at once, with the interpreter and options `python`. `say(line)` gets each line that it writes,
    `ended()` is called when it is gone."""

    def __init__(
        self,
        function: Function,
        environment: Mapping[str, str],
        say: Callable[[str], None],
        ended: Callable[[], None],
        python: Sequence[str] = (sys.executable,),
    ) -> None:
        self._function = function
        self._say = say
        self._tell_end = ended
        self._condition = threading.Condition()
        self._initialised = False
        self._offered: _Invocation | None = None
        self._taken = ""  # the request id of the invocation that the process has, or had last
        self._answer: Answer | None = None
        self._end: str | None = None
        self._gone = threading.Event()
        self._server = Server(_runtime_api(self))
        stream = f"{time.strftime('%Y/%m/%d', time.gmtime())}/[$LATEST]{uuid.uuid4().hex}"
        self._process = subprocess.Popen(
            [*python, "-m", "awslambdaric", function.handler],
            cwd=function.folder,
            env={**environment, **self._own_environment(stream)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # the terminal's Ctrl-C is for the local run, which then ends its processes in order
        )
        self.pid = self._process.pid
        self.arn = arn(function.full_name)
        threading.Thread(target=self._read_lines, name=f"{function.name} lines", daemon=True).start()
        threading.Thread(target=self._watch, name=f"{function.name} watcher", daemon=True).start()

    @property
    def alive(self) -> bool:
        return self._end is None

    def invoke(self, event: bytes) -> Answer | None:
        """Run one invocation, for at most the function's timeout. None where the process, idle before, died untouched by
        it: then another process may take the event. A process that failed is dead afterwards or about to be."""
        request_id = str(uuid.uuid4())
        timeout = self._function.timeout
        with self._condition:
            self._offered = _Invocation(request_id, event)
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._taken == request_id or not self.alive, INIT_SECONDS)
            if self._taken == request_id:
                self._condition.wait_for(lambda: self._answer or not self.alive, timeout)
            elif not self.alive:
                return None if self._initialised else self._answer or self._fail(request_id, "Runtime.ExitError", self._end)
            answer, end = self._answer, self._end
            self._answer, self._taken = None, ""
        if answer is not None:
            return answer
        if end is not None:
            return self._fail(request_id, "Runtime.ExitError", end)
        self.kill()
        self.join()
        what = f"Task timed out after {timeout:.2f} seconds" if self._initialised else "the import did not end"
        return self._fail(request_id, "Sandbox.Timedout", what)

    def kill(self) -> None:
        """Kill the process, and what it started, at once."""
        with self._condition:
            if self.alive:
                with suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)

    def join(self) -> None:
        """Wait until a killed process is gone, and known to be."""
        self._gone.wait()

    def next(self) -> tuple[_Invocation, int] | None:
        """The process asks for work: waits for an invocation; answers it with its deadline in epoch milliseconds, or None
        when the process is dead."""
        with self._condition:
            self._initialised = True
            self._condition.wait_for(lambda: self._offered or not self.alive)
            if self._offered is None or not self.alive:
                return None
            taken, self._offered = self._offered, None
            self._taken = taken.request_id
            self._condition.notify_all()
            return taken, int((time.time() + self._function.timeout) * 1000)

    def settle(self, request_id: str, answer: Answer) -> bool:
        """The process answers an invocation; False when it has no such invocation."""
        with self._condition:
            if request_id != self._taken or self._answer is not None:
                return False
            self._answer = answer
            self._condition.notify_all()
            return True

    def fail_init(self, error: bytes) -> None:
        """The process could not import its handler; it ends after having said so."""
        with self._condition:
            self._answer = Answer(error, failed=True)

    def _own_environment(self, log_stream: str) -> dict[str, str]:
        function = self._function
        return {
            "_HANDLER": function.handler,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{function.runtime}",
            "AWS_LAMBDA_FUNCTION_NAME": function.full_name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_FORMAT": function.log_format,
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.full_name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": log_stream,
            "AWS_LAMBDA_RUNTIME_API": self._server.url.removeprefix("http://"),
            "LAMBDA_TASK_ROOT": str(function.folder),
            "TZ": ":UTC",
        }

    def _fail(self, request_id: str, error_type: str, what: str | None) -> Answer:
        self._say(json.dumps({"level": "ERROR", "message": what, "requestId": request_id}))
        error = {"errorType": error_type, "errorMessage": f"RequestId: {request_id} Error: {what}"}
        return Answer(json.dumps(error).encode(), failed=True)

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._say(line.decode("utf-8", "replace").rstrip("\n"))

    def _watch(self) -> None:
        code = self._process.wait()
        how = f"signal: {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        with self._condition:
            self._end = f"Runtime exited with {how}"
            self._condition.notify_all()
        self._tell_end()
        self._gone.set()
        self._server.close()


def _runtime_api(sandbox: Sandbox) -> type[Handler]:
    class RuntimeApi(Handler):
        def respond(self) -> None:
            if self.path == "/2018-06-01/runtime/invocation/next":
                self.hand_out()
            else:
                self.take_back()

        def hand_out(self) -> None:
            work = sandbox.next()
            if work is None:
                self.close_connection = True
                return
            invocation, deadline = work
            headers = [
                ("Content-Type", "application/json"),
                ("Lambda-Runtime-Aws-Request-Id", invocation.request_id),
                ("Lambda-Runtime-Deadline-Ms", str(deadline)),
                ("Lambda-Runtime-Invoked-Function-Arn", sandbox.arn),
            ]
            self.answer(200, headers, invocation.event)

        def take_back(self) -> None:
            body = self.read_body(_LARGEST_ANSWER)
            request_id, _, what = self.path.removeprefix("/2018-06-01/runtime/invocation/").partition("/")
            if body is None:
                error = {"errorType": "Function.ResponseSizeTooLarge", "errorMessage": "the answer is over 6 MiB"}
                sandbox.settle(request_id, Answer(json.dumps(error).encode(), failed=True))
                self.answer_json(413, "{}", close=True)
            elif self.path == "/2018-06-01/runtime/init/error":
                sandbox.fail_init(body)
                self.answer_json(202, "{}")
            elif what in ("response", "error") and sandbox.settle(request_id, Answer(body, failed=what == "error")):
                self.answer_json(202, "{}")
            else:
                self.answer_json(400, '{"errorType": "InvalidRequestID", "errorMessage": "no such invocation"}')

    return RuntimeApi
