"""One attempt: run the handler, and say what came of it. Nothing that a handler does gets past here."""

from __future__ import annotations

import math
import random
import traceback
from collections.abc import Callable

from tidemill import jsontext, telemetry
from tidemill.context import Context
from tidemill.errors import ConfigurationError, InProgress, PermanentError, RateLimited
from tidemill.handlers import Handler
from tidemill.jsontext import error_text
from tidemill.model import Job
from tidemill.outcome import PLAINLY_DONE, Discard, Done, Failed, Limited, Outcome, Retry, Snooze, Suspended
from tidemill.retry import pause
from tidemill.telemetry import Log

LONGEST_SNOOZE = 10 * 366 * 86400.0  # seconds
LARGEST_RESULT = 1024 * 1024  # characters
IN_PROGRESS_WAIT = 10.0  # seconds between looks whether another job's effect of the same key is over


def attempt(job: Job, handler: Handler, ctx: Context, log: Log, redact: Callable[[str], str]) -> Outcome:
    """Run the handler on the job. Whatever it raises is an outcome, sys.exit, KeyboardInterrupt and MemoryError included."""
    with telemetry.correlated(job.correlation_id):
        try:
            outcome = _outcome_of(handler.function(job, ctx), job, log, redact)
            if isinstance(outcome, Done):
                ctx.check_steps()
        except BaseException as error:
            outcome = classify(error, redact)
            if not ctx.suspended:
                log.warning("attempt failed", job=job.id, kind=job.kind, attempt=job.attempt, trace=_trace(error))
        # Whatever a `finally` or a bare `except` of the handler has made of it.
        return Suspended() if ctx.suspended else outcome


def classify(error: BaseException, redact: Callable[[str], str], rand: Callable[[], float] = random.random) -> Outcome:
    """What an error means: permanent, a pause that the other side asked for, or another attempt. The type decides, never
    the text."""
    name = type(error).__name__
    text = error_text(error, redact)
    if isinstance(error, RateLimited):
        return Limited(pause(error.retry_after, rand), text)
    if isinstance(error, InProgress):
        return Snooze(IN_PROGRESS_WAIT)
    if isinstance(error, (PermanentError, ConfigurationError)):
        return Failed(name, text)
    return Retry(name, text)


def result_json(value: object, job: Job, log: Log, redact: Callable[[str], str]) -> str:
    """The JSON text of a result. One that JSON cannot hold is left out with a note: the work itself is done."""
    try:
        text = jsontext.dumps(value)
        if len(text) <= LARGEST_RESULT:
            return text
        note = f"a result of {len(text)} characters, over {LARGEST_RESULT}"
    except Exception as error:  # not only ValueError: a value may have methods of its own that json calls
        note = jsontext.safe(str(error), redact, 300)
    log.warning("result left out", job=job.id, kind=job.kind, reason=note)
    return jsontext.dumps({"left_out": note})


def _outcome_of(value: object, job: Job, log: Log, redact: Callable[[str], str]) -> Outcome:
    if value is None:
        return PLAINLY_DONE
    match value:
        case Snooze(seconds):
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
                shown = jsontext.safe(repr(seconds), redact, 60)
                return Failed("ValueError", f"Snooze takes a number of seconds, not {shown}")
            return Snooze(min(max(float(seconds), 0.0), LONGEST_SNOOZE))
        case Discard(reason):
            return Discard(jsontext.safe(str(reason), redact))
    return Done(result_json(value, job, log, redact))


def _trace(error: BaseException) -> str:
    # Frames only: the text of an error may be 20 MB long, and is elsewhere.
    return jsontext.clean("".join(traceback.format_tb(error.__traceback__, limit=-12)))
