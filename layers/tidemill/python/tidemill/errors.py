"""What can go wrong on purpose: each error says who raises it and what happens then."""


class TidemillError(Exception):
    """The base of every error of this library."""


class ConfigurationError(TidemillError):
    """The program cannot start as it is set up. Raised at load, never while work runs; the text names all that is wrong."""


class PermanentError(TidemillError):
    """A handler (or `check`) raises it when another attempt cannot help: the job is failed at once and somebody is told."""


class RateLimited(TidemillError):
    """A handler (or `check`) raises it when the other side wants a pause.

    The job waits for `retry_after` seconds (10 where the other side did not say) and uses no attempt; every waiting job
    under the same limit waits with it.
    """

    def __init__(self, retry_after: float | None = None, message: str = "") -> None:
        super().__init__(
            message or f"rate limited, retry after {retry_after if retry_after is not None else 'an unsaid time'}"
        )
        self.retry_after = retry_after


class RequestFailed(TidemillError):
    """`check` and `ctx.telegram` raise it when a request did not succeed this time: another attempt may do better."""


class NotParked(TidemillError):
    """The parking queue did not take a delivery: the sender is asked to send it again. `slow` says that the time is up."""

    def __init__(self, message: str, slow: bool = False) -> None:
        super().__init__(message)
        self.slow = slow


class KeyReused(PermanentError):
    """`ctx.once` and `ctx.call_once` raise it for a key that was used with another request; the text names the key."""


class InProgress(TidemillError):
    """`ctx.once` and `ctx.call_once` raise it while another job makes the effect of the same key: the job waits a little and
    uses no attempt."""


class JobTimeout(TidemillError):
    """The worker records it for a job that ran longer than its handler's timeout; the attempt is used."""


class LeaseExpired(TidemillError):
    """Recorded for a job whose worker died: the lease ran out before the attempt was settled; the attempt is used."""


class StepMismatch(PermanentError):
    """`ctx.step`, `ctx.sleep` and `ctx.wait_for` raise it, and the end of the handler, where a running workflow meets code
    whose steps are others than those that it has behind it; the text names both. Nothing was run or recorded."""


class Suspension(BaseException):  # no Exception, so that no `except Exception` of a handler takes it for a failure
    """Ends an attempt of a workflow that has to wait, or that is another worker's by now: no attempt is used, and the job
    goes on when it is due."""


class UnknownKind(TidemillError):
    """Recorded for a job that no loaded handler can run, after it has waited a day for one."""


class CommandError(TidemillError):
    """An operator's command cannot be carried out. `code` is invalid, not_found or conflict; `field` names the input."""

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.field = field
