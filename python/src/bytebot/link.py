"""What carries lines between a satellite and its Hub, and who takes them; all of it on the event loop's thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from .codec import Event, decode
from .errors import BytebotError
from .framer import Framer, TooLong
from .limits import WIDE, LineLimits

#: Bytes: with so many sent and not yet taken, the other end is behind.
HIGH_WATER = 1024 * 1024


class Receiver(Protocol):
    def event(self, event: Event) -> None: ...
    def fault(self, error: BytebotError) -> None:
        """A line that was no event; the link goes on."""

    def closed(self, reason: str) -> None:
        """Nothing comes any more. Once."""


class Link(Protocol):
    def send(self, line: bytes, event: Mapping[str, Any]) -> None:
        """The event as a line with its newline; on a closed link it goes nowhere."""

    async def drained(self) -> None:
        """Returns when what was sent has mostly left."""

    async def close(self, reason: str) -> None:
        """What was sent leaves first, as far as the other side takes it. Never raises."""


class LineReader:
    """Pieces of a stream to events and faults."""

    def __init__(self, receiver: Receiver, limits: LineLimits = WIDE) -> None:
        self._receiver = receiver
        self._limits = limits
        self._framer = Framer(limits.line_bytes)

    def push(self, piece: bytes) -> None:
        for line in self._framer.push(piece):
            self._take(line)

    def cut(self) -> None:
        """What the break cut did not arrive (HTP-7)."""
        self._framer = Framer(self._limits.line_bytes)

    def end(self) -> None:
        for line in self._framer.end():
            self._take(line)

    def _take(self, line: bytes | TooLong) -> None:
        try:
            if isinstance(line, TooLong):
                message = f"a line of {line.size} bytes; the limit is {self._limits.line_bytes}"
                raise BytebotError("too_large", message)
            event = decode(line, self._limits)
        except BytebotError as error:
            self._receiver.fault(error)
        else:
            self._receiver.event(event)
