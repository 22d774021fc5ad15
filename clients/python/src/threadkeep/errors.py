"""Errors: refused by the server, never arrived, or of unknown fate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Type


class ThreadkeepError(Exception):
    """An error of this client. Its text never holds the key."""

    code: str
    """The stable code: the server's own, or one of this client: `unreachable`, `fate_unknown`, `broken_off`,
    `not_understood`, `not_honoured`, `invalid_parameter`.
    """

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class Refused(ThreadkeepError):
    """The server refused the request."""

    status: int
    """The status of the answer."""
    detail: str
    """What happened, in a sentence."""
    hint: str | None
    """What to do about it."""
    field: str | None
    """The field of the request that breaks a rule."""
    request_id: str | None
    """The id of the request, for the server's log."""
    current_version: int | None
    """Where the thread is, for a conflict."""
    approval_id: str | None
    """The approval that has to be given first."""
    problem: Mapping[str, Any]
    """The whole problem, with fields that this version does not know."""
    retry_after: float | None
    """The seconds that the server asks to wait."""

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.problem = problem
        self.retry_after = retry_after
        self.detail = str(problem.get("detail") or f"the answer was {status}, without a reason")
        self.hint = problem.get("hint")
        self.field = problem.get("field")
        self.request_id = problem.get("requestId")
        self.current_version = problem.get("currentVersion")
        self.approval_id = problem.get("approvalId")
        message = f"{self.detail} ({self.hint})" if self.hint else self.detail
        super().__init__(message, str(problem.get("code") or "not_understood"))

    def __reduce__(self) -> Any:
        return type(self), (self.status, self.problem, self.retry_after)


class Invalid(Refused):
    """400, 413, 422: the request breaks a rule."""


class Unauthorized(Refused):
    """401: the key is missing or wrong."""


class Forbidden(Refused):
    """403: the key may not do that, or an approval is needed first: see `approval_id`."""


class NotFound(Refused):
    """404, 410: there is nothing of that name for this key."""


class Conflict(Refused):
    """409, 412: another writer was first, or the state does not allow it."""


class Unavailable(Refused):
    """429, 503: try again later."""


class Unreachable(ThreadkeepError):
    """Nothing was sent: there is no way to the server."""

    code = "unreachable"


class FateUnknown(ThreadkeepError):
    """The connection broke after something was sent: whether the change was made is not known."""

    code = "fate_unknown"


class BrokenOff(ThreadkeepError):
    """The connection broke while content came: what came is only a part."""

    code = "broken_off"


class NotSent(Exception):
    """Of a transport: nothing went out."""


class Broke(Exception):
    """Of a transport: the connection broke after something went out."""


_BY_STATUS: Dict[int, Type[Refused]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: NotFound,
    412: Conflict,
    413: Invalid,
    422: Invalid,
    429: Unavailable,
    503: Unavailable,
}


def refused(status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> Refused:
    """The error of an answer with this status."""
    return _BY_STATUS.get(status, Refused)(status, problem, retry_after)
