"""What a tool's parameters are given: JSON, as its type hints have it."""

from __future__ import annotations

import enum
import typing
from collections.abc import Callable
from typing import Any, Literal, NotRequired, Required, get_args, get_origin

from .schema import is_union, misfit, to_schema

#: From a value that fits its hint's schema. None: it is that value already.
Reader = Callable[[Any], Any]


def readers_of(function: Callable[..., Any]) -> dict[str, Reader]:
    """Those parameters that are no plain JSON: an Enum's members, also within lists, dicts, TypedDicts and unions."""
    hints = typing.get_type_hints(function, include_extras=True)
    found = {name: _reader(hint) for name, hint in hints.items() if name != "return"}
    return {name: reader for name, reader in found.items() if reader}


def _reader(hint: Any) -> Reader | None:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (typing.Annotated, Required, NotRequired):
        return _reader(inner[0])
    if hint is int:
        # To JSON 5.0 is an integer too.
        return int
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    if origin is Literal:
        members = [each for each in inner if isinstance(each, enum.Enum)]
        return (lambda value: _member(members, value)) if members else None
    if is_union(origin):
        return _of_union(inner)
    if origin is list and inner:
        return _each(_reader(inner[0]), lambda read, value: [read(each) for each in value])
    if origin is dict:
        return _each(_reader(inner[1]), lambda read, value: {key: read(each) for key, each in value.items()})
    if typing.is_typeddict(hint):
        fields = {name: _reader(each) for name, each in typing.get_type_hints(hint, include_extras=True).items()}
        return lambda value: {key: read(each) if (read := fields.get(key)) else each for key, each in value.items()}
    return None


def _each(reader: Reader | None, all_of: Callable[[Reader, Any], Any]) -> Reader | None:
    return None if reader is None else lambda value: all_of(reader, value)


def _of_union(hints: tuple[Any, ...]) -> Reader | None:
    """By the first that the value fits."""
    readers = [(to_schema(hint, ""), _reader(hint)) for hint in hints]
    if not any(reader for _, reader in readers):
        return None

    def read(value: Any) -> Any:
        reader = next((reader for schema, reader in readers if misfit(value, schema) is None), None)
        return reader(value) if reader else value

    return read


def _member(members: list[enum.Enum], value: Any) -> Any:
    found = (each for each in members if each.value == value and type(each.value) is type(value))
    return next(found, value)
