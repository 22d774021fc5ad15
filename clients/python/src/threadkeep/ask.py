"""Requests: put together from the facts of a call. And when to try again."""

from __future__ import annotations

import json
import random
import re
import time
from typing import TYPE_CHECKING, Any, Dict, Tuple
from urllib.parse import quote, urlencode

from threadkeep.content import Source
from threadkeep.errors import ThreadkeepError
from threadkeep.record import Omit, plain

if TYPE_CHECKING:
    from typing import List, Mapping, TypedDict

    class Conditions(TypedDict, total=False):
        expected_version: int | None
        writer: str | None
        idempotency_key: str | None
        actor: str | None

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
# These parameters of paths keep their slashes.
_WITH_SLASHES = ("path", "definition", "endpoint")


class Facts:
    """What a client has to know of a call. It is printed from the table of calls."""

    __slots__ = ("id", "method", "path", "body", "nulls", "repeats", "unhurried", "honours", "answer", "codes")

    def __init__(
        self, id: str, method: str, path: str, *, body: str, nulls: Tuple[str, ...], repeats: bool, unhurried: bool,
        honours: Tuple[str, ...], answer: Any, codes: Tuple[str, ...],
    ) -> None:
        self.id = id
        self.method = method
        self.path = path
        self.body = body
        """`fields`, `whole` if a value is the body, or `none`."""
        self.nulls = nulls
        """The fields for which null says something else than nothing."""
        self.repeats = repeats
        """Whether sending it twice is the same as once."""
        self.unhurried = unhurried
        """Whether it takes as long as its work does."""
        self.honours = honours
        """The conditions that it honours."""
        self.answer = answer
        """The kind of its answer, or of the items of its pages."""
        self.codes = codes
        """The codes it may be refused with."""


class Ask:
    """A request."""

    __slots__ = ("method", "path", "headers", "source", "repeats", "unhurried")

    def __init__(
        self, method: str, path: str, *, repeats: bool, headers: Dict[str, str] | None = None,
        source: Source | None = None, unhurried: bool = False,
    ) -> None:
        self.method = method
        self.path = path
        """Path and query."""
        self.headers = headers or {}
        self.source = source
        """The body. It is made anew for each attempt."""
        self.repeats = repeats
        """Whether it may be sent again when it is not known whether it was carried out."""
        self.unhurried = unhurried or (source is not None and not isinstance(source.content, bytes))
        """Whether the answer may take as long as it takes."""


def conditions(
    expected_version: int | None = None,
    if_absent: bool = False,
    writer: str | None = None,
    idempotency_key: str | None = None,
    actor: str | None = None,
) -> Dict[str, str]:
    """The headers of conditions."""
    headers: Dict[str, str] = {}
    if expected_version is not None:
        headers["If-Match"] = f'"{expected_version}"'
    if if_absent:
        headers["If-None-Match"] = "*"
    if writer is not None:
        headers["Threadkeep-Writer"] = writer
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    if actor is not None:
        headers["Threadkeep-Actor"] = actor
    return headers


def asked(facts: Facts, path: Mapping[str, str], given: Any, retries: bool, **options: Any) -> Ask:
    """The request of a call."""
    for name, value in options.items():
        if value not in (None, False) and name != "actor" and name not in facts.honours:
            raise ThreadkeepError(f"{facts.id} does not honour {name}", "not_honoured")
    expects = options.get("expected_version") is not None
    # A version that was expected is gone once the change is made, so only a key makes it safe to send it again.
    needs_key = not facts.repeats or expects or "if_absent" in facts.honours
    if needs_key and retries and options.get("idempotency_key") is None and "idempotency_key" in facts.honours:
        options["idempotency_key"] = fresh_key()
    headers = conditions(**options)
    target = filled(facts.path, path)
    source = None
    if facts.body == "none":
        target += query(given)
    else:
        if facts.body == "fields":
            named = {name: value for name, value in given.items() if not isinstance(value, Omit)}
            given = {name: value for name, value in named.items() if value is not None or name in facts.nulls}
        text = json.dumps(plain(given), ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
        headers["Content-Type"] = "application/json"
        source = Source(text)
    repeats = "Idempotency-Key" in headers or (facts.repeats and not expects)
    return Ask(facts.method, target, repeats=repeats, headers=headers, source=source, unhurried=facts.unhurried)


def fresh_key() -> str:
    """A key that no other call uses."""
    return "%032x" % random.SystemRandom().getrandbits(128)


def filled(path: str, parts: Mapping[str, str]) -> str:
    """A path with its parameters."""

    def part(match: re.Match[str]) -> str:
        name = match.group(1)
        value = str(parts.get(name) or "")
        if name in _WITH_SLASHES:
            value = value.lstrip("/")
        if not value:
            raise ThreadkeepError(f"{name} is missing", "invalid_parameter")
        segments = value.split("/") if name in _WITH_SLASHES else [value]
        # A segment of dots alone would be taken for a step up.
        return "/".join(s.replace(".", "%2E") if s in (".", "..") else quote(s, safe="") for s in segments)

    return re.sub(r"\{(\w+)\}", part, path)


def query(params: Mapping[str, Any] | None) -> str:
    """The query of a request: `?a=1&b=2`, or nothing."""
    pairs: List[Tuple[str, str]] = []
    for name, value in (params or {}).items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, bool):
                pairs.append((name, "true" if one else "false"))
            elif one is not None and not isinstance(one, Omit):
                pairs.append((name, one if isinstance(one, str) else json.dumps(plain(one))))
    return f"?{urlencode(pairs)}" if pairs else ""


class Pauses:
    """The pauses between the attempts of one request. They grow, and differ by chance."""

    __slots__ = ("_give_up_after_s", "_began", "_next_s")

    def __init__(self, give_up_after_s: float) -> None:
        self._give_up_after_s = give_up_after_s
        self._began: float | None = None
        self._next_s = _FIRST_PAUSE_S

    def next(self, asked_s: float | None = None) -> float | None:
        """The seconds to wait, at least as long as the server asked for; none if there is no time left."""
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        left_s = self._give_up_after_s - (now - self._began)
        pause_s = self._next_s * (0.5 + random.random() / 2)
        self._next_s = min(2 * self._next_s, _LONGEST_PAUSE_S)
        if left_s <= 0 or (asked_s is not None and asked_s > left_s):
            return None
        return max(pause_s, asked_s) if asked_s is not None else min(pause_s, left_s)
