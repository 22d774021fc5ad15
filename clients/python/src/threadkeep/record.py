"""The ground of printed types: records that are read from JSON and written as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Dict, Generic, Tuple, Type, TypeVar

if TYPE_CHECKING:
    from typing import List, Mapping

    from typing_extensions import Self

T = TypeVar("T")

_CLASSES: Dict[str, Type[Record]] = {}


class Omit:
    """The type of `OMIT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "OMIT"


OMIT = Omit()
"""Says that a parameter is not given, where None would clear a field."""


class Record:
    """An object of the API. Its fields are attributes in snake_case."""

    __slots__ = ("extra",)
    _fields: ClassVar[Dict[str, Tuple[str, Any]]] = {}
    """For each field on the wire: its attribute, and the kind by which its value is read."""
    _required: ClassVar[Tuple[str, ...]] = ()
    """The fields that are always on the wire."""
    _constant: ClassVar[Tuple[str, str] | None] = None
    """The field that tells this type from others in its place, with its value."""

    extra: Dict[str, Any]
    """Fields that this version does not know, as they came."""

    def __init_subclass__(cls) -> None:
        _CLASSES[cls.__name__] = cls

    def __init__(self, **fields: Any) -> None:
        self.extra = {}
        for wire, (name, _) in self._fields.items():
            given = fields.pop(name, None)
            if self._constant is not None and wire == self._constant[0]:
                given = self._constant[1]
            setattr(self, name, given)
        if fields:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(fields)}")

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Reads it from JSON, as `json.loads` gives it. Fields that are not there are None."""
        record = cls.__new__(cls)
        record.extra = {}
        for name, _ in cls._fields.values():
            setattr(record, name, None)
        for wire, value in told.items():
            field = cls._fields.get(wire)
            if field is None:
                record.extra[wire] = value
            else:
                setattr(record, field[0], value if field[1] is None else read(field[1], value))
        return record

    def to_json(self) -> Dict[str, Any]:
        """The fields as they are on the wire, without those that are None and need not be there."""
        out = dict(self.extra)
        for wire, (name, _) in self._fields.items():
            value = getattr(self, name)
            if value is not None or wire in self._required:
                out[wire] = plain(value)
        return out

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Record) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = [name for name, _ in self._fields.values()] + ["extra"]
        told = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) not in (None, {})]
        return f"{type(self).__name__}({', '.join(told)})"


class Unknown(Record):
    """An object of a kind that this version does not know. All of it is in `extra`."""

    __slots__ = ()


class Page(Generic[T]):
    """A page of a list."""

    __slots__ = ("items", "next_cursor", "total", "total_is_exact")

    def __init__(
        self, items: List[T], next_cursor: str | None = None, total: int | None = None, total_is_exact: bool = True
    ) -> None:
        self.items = items
        self.next_cursor = next_cursor
        """Goes on where this page ends; None at the end."""
        self.total = total
        """How many there are in all, where that was counted."""
        self.total_is_exact = total_is_exact
        """False if there are more than `total`."""


def read_page(kind: Any, told: Any) -> Page[Any]:
    """A page, with items of this kind."""
    items = [read(kind, item) for item in told["items"]]
    return Page(items, told.get("nextCursor"), told.get("total"), told.get("totalIsExact") is not False)


def read(kind: Any, value: Any) -> Any:
    """Reads JSON as a kind: a record by its name, `("[", kind)`, `("{", kind)`, `("page", kind)` or `("|", kind, …)`."""
    if kind is None:
        return value
    if isinstance(kind, str):
        return _CLASSES[kind].from_json(value) if isinstance(value, dict) else value
    if kind[0] == "[":
        return [read(kind[1], item) for item in value] if isinstance(value, list) else value
    if kind[0] == "page":
        return read_page(kind[1], value)
    if kind[0] == "{":
        return {name: read(kind[1], item) for name, item in value.items()} if isinstance(value, dict) else value
    for one in kind[1:]:
        if isinstance(one, str) and isinstance(value, dict) and _fits(_CLASSES[one], value):
            return _CLASSES[one].from_json(value)
        if not isinstance(one, str) and one[0] == "[" and isinstance(value, list):
            return read(one, value)
    return Unknown.from_json(value) if isinstance(value, dict) else value


def _fits(record: Type[Record], value: Dict[str, Any]) -> bool:
    if record._constant is not None:
        return bool(value.get(record._constant[0]) == record._constant[1])
    return all(wire in value for wire in record._required)


def plain(value: Any) -> Any:
    """A value as JSON: records become objects."""
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
