"""What carries lines between a satellite and its Hub, and who takes them; all of it on the event loop's thread."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any, Protocol

from .codec import LONG, Event, decode
from .errors import BytebotError, as_error
from .framer import Framer, TooLong
from .limits import WIDE, LineLimits
from .threads import in_thread

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


#: So many lines that are no events, of which each event makes good for some: whatever writes there speaks no wire.
_MAX_NOISE, _FORGIVEN = 100, 10


class LineReader:
    """Pieces of a stream to events and faults (FRM-1 to FRM-8, FRM-11).

    A long line is read in a thread; those behind it wait, and whoever pushes waits for `settled`.
    """

    def __init__(
        self,
        receiver: Receiver,
        limits: LineLimits = WIDE,
        *,
        name: str = "the Hub",
        given_up: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """`given_up`: nothing but noise comes, so the link has to end, and why."""
        self._receiver = receiver
        self._limits = limits
        self._name = name
        self._given_up = given_up
        self._framer = Framer(limits.line_bytes)
        self._reading: asyncio.Future[Event] | None = None
        self._later: deque[bytes | TooLong] = deque()
        self._noise = 0
        self._deaf = False

    def push(self, piece: bytes) -> None:
        for line in self._framer.push(piece):
            self._take(line)

    def end(self) -> None:
        """The stream has ended: a last line without its newline still counts."""
        for line in self._framer.end():
            self._take(line)

    def cut(self) -> None:
        """What the break cut did not arrive (HTP-7)."""
        self._framer = Framer(self._limits.line_bytes)

    def limit(self, limits: LineLimits) -> None:
        self._limits = limits
        self._framer.limit = limits.line_bytes

    def close(self) -> None:
        """Nothing is told to the receiver from here on."""
        self._deaf = True
        self._later.clear()

    async def settled(self) -> None:
        """Returns when what was pushed so far has been told."""
        while self._reading:
            await asyncio.wait([self._reading])

    @property
    def busy(self) -> bool:
        return self._reading is not None

    def _take(self, line: bytes | TooLong) -> None:
        if self._deaf:
            return
        if self._reading:
            self._later.append(line)
        elif isinstance(line, TooLong):
            most = self._limits.line_bytes
            what = f"a line of {line.size} bytes from {self._name}"
            self._stray(BytebotError("too_large", f"{what}; the limit is {most}, larger content travels as a blob"))
        elif len(line) < LONG:
            self._read(lambda: decode(line, self._limits))
        else:
            limits = self._limits
            self._reading = in_thread(lambda: decode(line, limits), Context())
            self._reading.add_done_callback(self._was_read)

    def _was_read(self, reading: asyncio.Future[Event]) -> None:
        self._reading = None
        if not self._deaf:
            self._read(reading.result)
        while self._later and not self._reading:
            self._take(self._later.popleft())

    def _read(self, line: Callable[[], Event]) -> None:
        try:
            event = line()
        except BytebotError as error:
            return self._stray(error)
        self._noise = max(0, self._noise - _FORGIVEN)
        try:
            self._receiver.event(event)
        except Exception as error:
            self._receiver.fault(as_error(error))

    def _stray(self, error: BytebotError) -> None:
        """A line that is no event is reported and skipped; a stream of nothing else is given up."""
        self._receiver.fault(error)
        self._noise += 1
        if self._noise < _MAX_NOISE:
            return
        self.close()
        self._given_up(
            f"too many lines from {self._name} were no events, {_MAX_NOISE} and ten for each that was, "
            f"the last: {error.message}; prints belong on stderr"
        )
