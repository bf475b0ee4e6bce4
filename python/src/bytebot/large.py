"""A long line of JSON, read in a thread, in steps so short that the event loop beside it has its turns.

The C code of `json` holds the interpreter from its beginning to its end: here it is given so much at a time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

#: Bytes of one step: more than an escape and a character take.
_STEP = 64 * 1024
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PLAIN = rb'[^"\[\]{}]++|' + _STRING
_FLAT = rb"\[(?:" + _PLAIN + rb")*+\]|\{(?:" + _PLAIN + rb")*+\}"
#: Text in which every bracket is closed right away.
_RUN = re.compile(rb"(?:" + _PLAIN + rb"|" + _FLAT + rb")*+", re.DOTALL)
#: The same, to its first comma that is in no bracket.
_TO_COMMA = re.compile(rb'(?:[^",\[\]{}]++|' + _STRING + rb"|" + _FLAT + rb")*+,", re.DOTALL)
_STRINGS = re.compile(_STRING, re.DOTALL)
_KEY = re.compile(rb"[ \t\r\n]*+:")
#: Stands in a text for a value that was read already. No JSON: what is there as such is refused.
_PLACE = b"-Infinity"
_CLOSES = {ord("["): b"]", ord("{"): b"}"}


class TooManyError(Exception):
    """More values than are allowed."""


class TooDeepError(Exception):
    """Nested deeper than is allowed."""


class _Container:
    """An object or an array that has not ended: the text of its newest members, and the values of those before."""

    def __init__(self, opens: int) -> None:
        self.opens = opens
        self.text = bytearray()
        #: What the places in its text stand for.
        self.values: list[Any] = []
        self.done: dict[str, Any] | list[Any] | None = None


class LargeText:
    """One line: `read()` returns its value.

    Raises ValueError where it is not UTF-8 or not JSON, TooManyError, TooDeepError.
    """

    def __init__(self, line: bytes, values: int, depth: int) -> None:
        self._line = line
        self._most = values
        self._depth = depth
        self._count = 1
        #: Holds half a character, written as an escape.
        self.halves = False

    def read(self) -> Any:
        line, size = self._line, len(self._line)
        top = _Container(0)
        above: list[_Container] = []
        at = 0
        while at < size:
            end = self._end_of_run(at)
            if end > at:
                comma = _TO_COMMA.match(line, at, end) if above and len(top.text) > _STEP else None
                if comma:
                    top.text += line[at : comma.end() - 1]
                    self._read_members(top)
                    end = comma.end()
                else:
                    top.text += line[at:end]
                self._account(line[at:end])
                at = end
            elif line[at] == 0x22:
                at = self._long_string(top, at)
            elif line[at] in _CLOSES:
                above.append(top)
                top = _Container(line[at])
                self._add(1)
                if len(above) > self._depth:
                    raise TooDeepError
                at += 1
            else:
                if not above or line[at : at + 1] != _CLOSES[top.opens]:
                    raise ValueError("a bracket that nothing opened")
                self._close(top, above[-1])
                top = above.pop()
                at += 1
        if above:
            raise ValueError("a bracket that nothing closes")
        return self._parse(bytes(top.text), top.values)

    def _end_of_run(self, at: int) -> int:
        run = _RUN.match(self._line, at, at + _STEP)
        return run.end() if run else at

    def _close(self, inner: _Container, outer: _Container) -> None:
        if not inner.text.strip() and inner.done is None:
            self._add(-1)
        if inner.done is None and not inner.values and len(inner.text) <= _STEP:
            outer.text += bytes((inner.opens,)) + inner.text + _CLOSES[inner.opens]
            return
        self._read_members(inner)
        outer.values.append(inner.done)
        outer.text += _PLACE

    def _read_members(self, container: _Container) -> None:
        if not container.text.strip():
            raise ValueError("a comma too many")
        opens, closes = bytes((container.opens,)), _CLOSES[container.opens]
        members = self._parse(opens + container.text + closes, container.values)
        if container.done is None:
            container.done = members
        elif isinstance(container.done, dict):
            container.done.update(members)
        else:
            container.done.extend(members)
        container.text.clear()
        container.values.clear()

    def _parse(self, text: bytes, values: list[Any]) -> Any:
        self.halves = self.halves or HALF_ESCAPE.search(text) is not None
        places = iter(values)

        def place(constant: str) -> Any:
            try:
                if constant == "-Infinity":
                    return next(places)
            except StopIteration:
                pass  # said below
            raise ValueError(f"{constant} is no JSON")

        return json.loads(text.decode(), parse_int=to_int, parse_constant=place)

    def _long_string(self, top: _Container, at: int) -> int:
        """A string that goes beyond its step."""
        end = _end_of_string(self._line, at)
        if end - at <= _STEP or _KEY.match(self._line, end, end + _STEP):
            top.text += self._line[at:end]
        else:
            pieces = _pieces(self._line, at + 1, end - 1)
            top.values.append("".join(self._parse(b'"' + piece + b'"', []) for piece in pieces))
            top.text += _PLACE
        return end

    def _account(self, run: bytes) -> None:
        bare = _STRINGS.sub(b"", run)
        # Empty objects and arrays hold no first member. With white space within they may count twice.
        empty = bare.count(b"[]") + bare.count(b"{}")
        self._add(bare.count(b",") + bare.count(b"[") + bare.count(b"{") - empty)

    def _add(self, values: int) -> None:
        self._count += values
        if self._count > self._most:
            raise TooManyError


HALF_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def to_int(digits: str) -> int | float:
    """What is beyond any integer of the wire is not worked out digit by digit."""
    if len(digits) <= 17:
        return int(digits)
    return float(digits) if len(digits) <= 400 else math.inf


def _end_of_string(line: bytes, at: int) -> int:
    """Behind its closing quote."""
    end = at
    while True:
        end = line.find(b'"', end + 1)
        if end < 0:
            raise ValueError("a string that does not end")
        first = end
        while line[first - 1] == 0x5C and first - 1 > at:
            first -= 1
        if (end - first) % 2 == 0:
            return end + 1


def _pieces(line: bytes, at: int, end: int) -> Iterator[bytes]:
    """The inside of a string, cut between characters and escapes."""
    while end - at > _STEP:
        cut = at + _STEP
        # An escape has six bytes at most.
        escape = line.rfind(b"\\", cut - 6, cut)
        first = escape
        while first > at and line[first - 1] == 0x5C:
            first -= 1
        if escape >= 0:
            cut = escape if (escape - first) % 2 == 0 else escape + 1
        for _ in range(3):
            cut -= line[cut] & 0xC0 == 0x80
        yield line[at:cut]
        at = cut
    yield line[at:end]
