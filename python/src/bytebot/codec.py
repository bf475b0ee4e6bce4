"""One line to one event and back, checked as the wire demands (FRM-3 to FRM-8)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from .errors import BytebotError, to_report
from .large import HALF_ESCAPE, LargeText, TooDeepError, TooManyError, to_int
from .limits import STANDARD, LineLimits

#: Bytes of a line that takes so long to read that it is read beside the event loop.
LONG = 32 * 1024
#: Shorter lines cannot break the value limit, and parsing them before the check costs nothing.
_SCAN_FROM = 4096 // 3
_FORBIDDEN_KEYS = frozenset(("__proto__", "constructor", "prototype"))
# Refused where damaged, because a repaired id is another id.
_NAMING = frozenset(("event_type", "id", "in_reply_to", "scope", "call_id", "loop_id", "from", "cursor", "ref"))
_MOST = 2**53 - 1
# Possessive, and ended by the end of the text too: a string that is never closed costs its length once.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")
_HALF = re.compile("[\ud800-\udfff]")


class Event(dict[str, Any]):
    """One event as it crosses the wire: a dict, whose fields may also be read as attributes (`chunk.scope`)."""

    __slots__ = ()

    def __getattr__(self, field: str) -> Any:
        try:
            return self[field]
        except KeyError:
            raise AttributeError(f'this {self.get("event_type", "event")} has no field "{field}"') from None


def decode(line: bytes, limits: LineLimits = STANDARD) -> Event:
    """Raises BytebotError `parse_error` (not UTF-8, not JSON), `too_large` (over `limits`), or `invalid_event`."""
    if len(line) > limits.line_bytes:
        raise BytebotError("too_large", f"a line of {len(line)} bytes; the limit is {limits.line_bytes}")
    try:
        value, halves = _read_long(line, limits) if len(line) >= LONG else _read(line, limits)
    except UnicodeDecodeError:
        raise BytebotError("parse_error", "the line is not UTF-8") from None
    except (RecursionError, TooDeepError):
        raise _too_deep(limits) from None
    except ValueError:
        start = to_report(json.dumps(line[:160].decode(errors="ignore")[:40]))
        raise BytebotError("parse_error", f"the line is not JSON; it starts with {start}") from None
    if isinstance(value, dict) and halves:
        value = {key: item if key in _NAMING else _repaired(item) for key, item in value.items()}
    check(value, limits)
    return Event(value)


def _read(line: bytes, limits: LineLimits) -> tuple[Any, bool]:
    """Its value, and whether half a character may be in it."""
    text = line.decode()
    scan(text, limits)
    return _JSON.decode(text), HALF_ESCAPE.search(line) is not None


def _read_long(line: bytes, limits: LineLimits) -> tuple[Any, bool]:
    large = LargeText(line, limits.values, limits.depth)
    try:
        return large.read(), large.halves
    except TooManyError:
        raise _too_many(limits) from None


def encode(event: Mapping[str, Any], limits: LineLimits = STANDARD) -> bytes:
    """The event as a line with its newline. Raises BytebotError `invalid_event` or `too_large`: it cannot cross."""
    check(event, limits)
    try:
        text = _TO_JSON.encode(event)
    except (TypeError, ValueError) as error:
        raise BytebotError("invalid_event", f"this event cannot be JSON: {error}") from None
    # Many readers cut lines there (FRM-3).
    if "\u2028" in text or "\u2029" in text:
        text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    line = well_formed(text).encode()
    if len(line) > limits.line_bytes:
        raise BytebotError("too_large", f"this event has {len(line)} bytes; the limit here is {limits.line_bytes}")
    return line + b"\n"


def scan(text: str, limits: LineLimits) -> None:
    """Depth and number of values, counted on the text before anything is parsed (FRM-6)."""
    if len(text) < _SCAN_FROM:
        return
    bare = _STRING.sub("", text)
    if 1 + bare.count(",") + bare.count("[") + bare.count("{") - _empty(bare) > limits.values:
        raise _too_many(limits)
    depth = 0
    for bracket in _NO_BRACKETS.sub("", bare):
        depth += 1 if bracket in "[{" else -1
        if depth > limits.depth:
            raise _too_deep(limits)


def check(event: object, limits: LineLimits = STANDARD) -> None:
    """Is it a JSON object that every reader of JSON takes for the same (FRM-7, FRM-8), within the limits (FRM-6)?"""
    if not isinstance(event, Mapping):
        raise BytebotError("invalid_event", "an event is a JSON object, and this is not one")
    _visit(event, limits, 1, "event", 0)
    if not isinstance(event.get("event_type"), str) or event["event_type"] == "":
        raise BytebotError("invalid_event", '"event_type" is missing: every event says what it is')


def well_formed(text: str) -> str:
    """With U+FFFD for half a surrogate pair; two halves become their character."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _visit(container: Any, limits: LineLimits, depth: int, where: str, values: int) -> int:
    if depth > limits.depth:
        raise _too_deep(limits)
    values += 1
    if type(container) is not list and isinstance(container, Mapping):
        for key, value in container.items():
            _check_key(key, where)
            if depth == 1 and key in _NAMING and isinstance(value, str):
                _check_name(key, value)
                values += 1
            else:
                values = _visit_value(value, limits, depth, key, values)
    else:
        for value in container:
            values = _visit_value(value, limits, depth, where, values)
    if values > limits.values:
        raise _too_many(limits)
    return values


def _visit_value(value: object, limits: LineLimits, depth: int, where: str, values: int) -> int:
    # What JSON gives, first: asking an abstract class takes ten times as long.
    kind = type(value)
    if kind is str or value is None or kind is bool or (kind is int and -_MOST <= value <= _MOST):  # type: ignore[operator]
        return values + 1
    if kind is dict or kind is list or isinstance(value, Mapping | list | tuple):
        return _visit(value, limits, depth + 1, where, values)
    if isinstance(value, str):
        return values + 1
    if not isinstance(value, int | float):
        raise BytebotError("invalid_event", f'"{where}" is a {type(value).__name__}, which JSON cannot carry')
    if isinstance(value, float) and not math.isfinite(value):
        raise BytebotError("invalid_event", f'"{where}" is not a finite number')
    if abs(value) > _MOST and (isinstance(value, int) or value.is_integer()):
        raise BytebotError("invalid_event", f'"{where}" is beyond 2^53-1: send it as a string')
    return values + 1


def _check_key(key: object, where: str) -> None:
    # Most keys, at once.
    if type(key) is str and key.isidentifier() and key.isascii() and key not in _FORBIDDEN_KEYS:
        return
    if not isinstance(key, str):
        raise BytebotError("invalid_event", f"a key in {where} is a {type(key).__name__}: a key is a text")
    if key in _FORBIDDEN_KEYS:
        raise BytebotError("invalid_event", f'the key "{key}" in {where} is not allowed')
    if "\\" in key:
        raise BytebotError("invalid_event", f"a key in {where} holds a backslash: name it without")
    if not key.isascii() and _HALF.search(key):
        raise BytebotError("invalid_event", f"a key in {where} holds half a character")


def _check_name(key: str, value: str) -> None:
    if "\0" in value or (not value.isascii() and _HALF.search(value)):
        message = f'"{key}" holds a NUL or half a character; names are refused, not repaired'
        raise BytebotError("invalid_event", message)


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {key: _repaired(item) for key, item in value.items()}
    return [_repaired(item) for item in value] if isinstance(value, list) else value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


# Made once: `json.loads` and `json.dumps` with options make one for each line.
_JSON = json.JSONDecoder(parse_int=to_int, parse_constant=_refuse)
_TO_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _empty(bare: str) -> int:
    """Empty objects and arrays hold no first member. With white space within they may count twice."""
    return bare.count("[]") + bare.count("{}")


def _too_deep(limits: LineLimits) -> BytebotError:
    return BytebotError("too_large", f"nested deeper than {limits.depth}: flatten it, or send it as a blob")


def _too_many(limits: LineLimits) -> BytebotError:
    return BytebotError("too_large", f"more than {limits.values} values in one event: send it as a blob")
