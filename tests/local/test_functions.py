"""Functions run as Lambda runs them: real processes under the real runtime client."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from local.functions import InvokeError
from tests.local.conftest import Tiny

Make = Callable[..., Tiny]

ECHO = """
import os
def handler(event, context):
    return {"event": event, "pid": os.getpid()}
"""


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_function_answers_and_its_process_stays_warm(tiny: Make) -> None:
    function = tiny(ECHO)
    first = function.invoke({"n": 1})
    second = function.invoke({"n": 2})
    assert [first["event"], second["event"]] == [{"n": 1}, {"n": 2}]
    assert first["pid"] == second["pid"] != os.getpid()


def test_the_context_is_lambdas(tiny: Make) -> None:
    function = tiny(
        """
        import os
        def handler(event, context):
            names = ["AWS_LAMBDA_FUNCTION_NAME", "AWS_EXECUTION_ENV", "TZ"]
            return {
                "name": context.function_name, "arn": context.invoked_function_arn, "stream": context.log_stream_name,
                "left": context.get_remaining_time_in_millis(), "environment": [os.environ[name] for name in names],
            }
        """,
        timeout=7,
    )
    answer = function.invoke({})
    assert answer["name"] == "tidemill-tiny"
    assert answer["arn"].endswith(":function:tidemill-tiny")
    assert "[$LATEST]" in answer["stream"]
    assert 0 < answer["left"] <= 7000
    assert answer["environment"] == ["tidemill-tiny", "AWS_Lambda_python3.13", ":UTC"]


def test_an_error_is_told_as_lambda_tells_it_and_the_process_goes_on(tiny: Make) -> None:
    function = tiny(
        """
        import os
        def handler(event, context):
            if event["fail"]:
                raise ValueError("no good")
            return os.getpid()
        """
    )
    pid = function.invoke({"fail": False})
    with pytest.raises(InvokeError) as failure:
        function.invoke({"fail": True})
    told = json.loads(str(failure.value))
    assert (told["errorType"], told["errorMessage"]) == ("ValueError", "no good")
    assert function.invoke({"fail": False}) == pid


def test_what_a_function_prints_is_a_line(tiny: Make) -> None:
    function = tiny("def handler(event, context):\n    print('hello', event)")
    function.invoke(7)
    wait_until(lambda: "hello 7" in function.lines)


def test_a_function_over_its_timeout_is_killed_and_replaced(tiny: Make) -> None:
    function = tiny(
        """
        import os, time
        def handler(event, context):
            print("pid", os.getpid())
            time.sleep(event)
            return os.getpid()
        """,
        timeout=1,
    )
    with pytest.raises(InvokeError, match=r"Task timed out after 1\.00 seconds"):
        function.invoke(60)
    (line,) = [line for line in function.lines if line.startswith("pid")]
    hung = int(line.removeprefix("pid "))
    assert gone(hung)
    assert function.invoke(0) != hung


def test_a_killed_function_takes_what_it_started_along(tiny: Make) -> None:
    function = tiny(
        """
        import subprocess, time
        def handler(event, context):
            print("child", subprocess.Popen(["sleep", "60"]).pid)
            time.sleep(60)
        """,
        timeout=1,
    )
    with pytest.raises(InvokeError):
        function.invoke({})
    (line,) = [line for line in function.lines if line.startswith("child")]
    wait_until(lambda: gone(int(line.removeprefix("child "))))


def test_a_process_that_dies_in_its_work_fails_the_invocation_and_is_replaced(tiny: Make) -> None:
    function = tiny(
        """
        import os, signal
        def handler(event, context):
            if event:
                os.kill(os.getpid(), signal.SIGKILL)
            return os.getpid()
        """
    )
    pid = function.invoke(0)
    with pytest.raises(InvokeError, match="SIGKILL"):
        function.invoke(1)
    assert function.invoke(0) != pid


def test_a_process_that_died_while_idle_swallows_no_event(tiny: Make) -> None:
    function = tiny(ECHO)
    pid = function.invoke(1)["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: function.running.processes() == [])
    assert function.invoke(2)["event"] == 2


def test_a_process_that_ends_itself_after_its_answer_swallows_no_event(tiny: Make) -> None:
    function = tiny(
        """
        import os, sys
        def handler(event, context):
            client = sys.modules["awslambdaric.lambda_runtime_client"]
            client.LambdaRuntimeClient.wait_next_invocation = lambda self: os._exit(0)
            return os.getpid()
        """
    )
    assert len({function.invoke({}) for _ in range(5)}) == 5


def test_a_handler_that_cannot_be_imported_is_told_each_time(tiny: Make) -> None:
    function = tiny("import nothing_of_that_name")
    for _ in range(2):
        with pytest.raises(InvokeError, match="nothing_of_that_name"):
            function.invoke({})


def test_invocations_at_once_get_a_process_each_and_at_most_the_reserved_number(tiny: Make) -> None:
    function = tiny(
        """
        import os, time
        def handler(event, context):
            time.sleep(0.3)
            return os.getpid()
        """,
        concurrency=2,
    )
    pids: list[object] = []
    threads = [threading.Thread(target=lambda: pids.append(function.invoke({}))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 4
    assert len(set(pids)) == 2


def test_an_invocation_that_finds_no_process_gives_up_in_time(tiny: Make) -> None:
    function = tiny("import time\ndef handler(event, context):\n    print('busy')\n    time.sleep(60)", concurrency=1)
    function.running.invoke_later(b"{}")
    wait_until(lambda: "busy" in function.lines)
    assert function.running.invoke(b"{}", 0.01) is None


def test_asynchronous_invocations_run_one_after_the_other_where_there_is_one_place(tiny: Make) -> None:
    function = tiny("def handler(event, context):\n    print('ran', event)", concurrency=1)
    for number in range(5):
        function.running.invoke_later(str(number).encode())
    wait_until(lambda: len(function.lines) == 5)
    assert function.lines == [f"ran {number}" for number in range(5)]


def test_closing_gives_what_runs_its_grace(tiny: Make) -> None:
    function = tiny("import time\ndef handler(event, context):\n    print('on')\n    time.sleep(0.3)\n    print('over')")
    function.running.invoke_later(b"{}")
    wait_until(lambda: "on" in function.lines)
    pids = function.running.processes()
    function.functions.close(grace=20)
    wait_until(lambda: "over" in function.lines)
    assert all(gone(pid) for pid in pids)


def test_closing_without_grace_kills(tiny: Make) -> None:
    function = tiny("import time\ndef handler(event, context):\n    print('on')\n    time.sleep(60)")
    function.running.invoke_later(b"{}")
    wait_until(lambda: "on" in function.lines)
    pids = function.running.processes()
    function.functions.close()
    assert all(gone(pid) for pid in pids)
    with pytest.raises(InvokeError, match="busy"):
        function.invoke({})


def test_an_answer_over_six_mebibytes_is_an_error(tiny: Make) -> None:
    function = tiny("def handler(event, context):\n    return 'x' * event")
    with pytest.raises(InvokeError, match="over 6 MiB"):
        function.invoke(7 * 1024 * 1024)
    assert function.invoke(3) == "xxx"
