"""The connection of a Hub that dials this satellite: it outlives its sockets (HTP-1, HTP-3 to HTP-10)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from ..codec import Event, encode
from ..errors import BytebotError, as_error
from ..link import HIGH_WATER, LineReader, Receiver
from ..names import ack_name_of, name_of
from .headers import HEARTBEAT_S, MAX_LINES, MAX_POSTS, MAX_UNSENT, RETURN_S, error_line
from .held import Entry, Held

#: What a peer may still take of the last lines, and answer to them, when the link closes.
_FLUSH_S = 1.0

#: For most lines: what has no name.
_ACK = b'{"event_type":"bb_ack"}\n'

ENDED = BytebotError("not_found", "the connection has ended: begin a new one with bb_sync")


class ServedLink:
    def __init__(self, closed: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._early: list[Event | BytebotError] = []
        self._held = Held()
        self._changed = asyncio.Event()
        self._forget = closed
        #: The request that has the stream.
        self._stream: object | None = None
        self._began = False
        self._counts = False
        self._acks = False
        self._ending = False
        self._over = False
        self._left = asyncio.Event()
        self._gone = asyncio.Event()
        self._posting = asyncio.Lock()
        self._posts = 0
        self._batch = 0
        self._answers: list[bytes] = []
        self._skip = 0
        self._said: bytes | None = None
        self._reader = LineReader(self, given_up=self.end)
        self._away: asyncio.TimerHandle | None = None
        self._await_return()

    def connect(self, receiver: Receiver) -> ServedLink:
        self._receiver = receiver
        early, self._early = self._early, []
        for each in early:
            self._loop.call_soon(receiver.fault if isinstance(each, BytebotError) else receiver.event, each)  # type: ignore[arg-type]
        return self

    @property
    def connected(self) -> bool:
        """Is its stream open now? Otherwise the peer may still return."""
        return self._stream is not None

    # As a link.

    def send(self, line: bytes, event: Mapping[str, Any]) -> None:
        if self._over:
            return
        kind = event["event_type"]
        self._acks = self._acks or (kind == "bb_sync" and "acks" in event.get("capabilities", {}))
        if kind == "bb_error" and self._said == b"" and "in_reply_to" not in event:
            self._said = line  # what is said of the line that is being taken is its answer
            return
        cursor = event.get("cursor")
        self._held.push(Entry(line, cursor if isinstance(cursor, str) else None, ack_name_of(event)))
        if self._held.waiting > MAX_UNSENT:
            self.end(f"it takes too little: {MAX_UNSENT} bytes wait")
        self._changed.set()

    async def drained(self) -> None:
        while self._held.waiting >= HIGH_WATER and not self._over:
            await asyncio.sleep(0.005)

    async def close(self, reason: str) -> None:
        if self._ending:
            await self._gone.wait()
            return
        self._ending = True
        self._changed.set()
        if self._away:
            self._away.cancel()
        # What it answers to the last lines still counts, until it has left: a peer that counts says so when it does.
        if self._stream is not None:
            await self._within(lambda: self._stream is None)
            if self._counts:
                await self._within(self._left.is_set)
        await self._within(lambda: self._posts == 0)
        self._over = True
        self._changed.set()
        self._gone.set()
        self._forget()
        if self._receiver:
            self._receiver.closed(reason)

    def end(self, reason: str) -> None:
        """Closes it, and does not wait."""
        task = self._loop.create_task(self.close(reason))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _within(self, done: Callable[[], bool]) -> None:
        until = self._loop.time() + _FLUSH_S
        while not done() and self._loop.time() < until:
            await asyncio.sleep(0.005)

    # The stream.

    def open(self, stream: object, received: int | None, last_cursor: str | None) -> bool:
        """The stream is this request's from now on. False where what it misses is gone: it has to start anew."""
        if self._ending:
            return False
        self._counts = self._counts or received is not None
        if received is not None:
            has = self._held.received(received)
        else:
            has = last_cursor is None or self._held.received_cursor(last_cursor)
        if not has:
            return False
        names = received is not None or last_cursor is not None
        if self._began and (names or self._acks):
            self._held.rewind(not names)
        if self._away:
            self._away.cancel()
        self._began = True
        self._stream = stream
        self._changed.set()
        return True

    async def lines(self, stream: object) -> AsyncIterator[list[Entry]]:
        """What the stream is to be sent, in pieces; an empty one is a sign of life. Ends with the connection."""
        while self._stream is stream:
            entries, size = [], 0
            while size < HIGH_WATER and (entry := self._held.take()):
                entries.append(entry)
                size += len(entry.line)
            if entries:
                yield entries
                continue
            if self._ending:
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._changed.wait()
            except TimeoutError:
                yield []

    def has_stream(self, stream: object) -> bool:
        """Or has a newer request taken its place?"""
        return self._stream is stream

    def lost(self, stream: object) -> None:
        if self._stream is stream:
            self._stream = None
            if not self._ending:
                self._await_return()

    def leave(self) -> None:
        """The peer ended the connection: what it still sends finds none."""
        self._forget()
        self._left.set()
        self.end("it ended the connection")

    def has(self, received: int) -> None:
        """What the peer has of the stream need not be kept for it."""
        self._held.received(received)

    def _await_return(self) -> None:
        if self._away:
            self._away.cancel()
        late = f"it did not {'return to' if self._began else 'come for'} its stream within {RETURN_S:.0f} s"
        self._away = self._loop.call_later(RETURN_S, self.end, late)

    # The inbox.

    async def inbox(self, pieces: AsyncIterator[bytes], number: int | None) -> tuple[int, bytes]:
        """Each line is answered with a line, in order; one request at a time (HTP-4). The status and the body."""
        if self._posts >= MAX_POSTS:
            message = "one inbox request at a time: wait for the answer of the last one"
            raise BytebotError("overloaded", message, retryable=True, retry_after_ms=100)
        self._posts += 1
        try:
            async with self._posting:
                return await self._take(pieces, number)
        finally:
            self._posts -= 1

    async def _take(self, pieces: AsyncIterator[bytes], number: int | None) -> tuple[int, bytes]:
        if number is not None and number < self._batch:
            message = (
                f"request {number} of this connection came after request {self._batch}: only the newest may be repeated"
            )
            raise BytebotError("conflict", message)
        if self._over:
            return 404, error_line(ENDED)
        await self._reader.settled()
        if number is None or number > self._batch:
            self._answers = []
        # What of a request came before its socket broke counts, and its repetition goes on after it.
        self._skip = len(self._answers)
        self._batch = number or self._batch
        try:
            async for piece in pieces:
                if len(self._answers) <= MAX_LINES:
                    self._reader.push(piece)
                    await self._reader.settled()
        except BaseException:
            self._reader.cut()
            raise
        if len(self._answers) <= MAX_LINES:
            self._reader.end()
            await self._reader.settled()
        self._reader.cut()
        body = b"".join(self._answers[:MAX_LINES])
        if self._over:
            return 404, body + error_line(ENDED)
        if len(self._answers) > MAX_LINES:
            return 413, body + error_line(BytebotError("too_large", f"at most {MAX_LINES} lines a request"))
        return 200, body

    def event(self, event: Event) -> None:
        if self._skips():
            return
        name = name_of(event)
        answer = _ACK if name is None else encode({"event_type": "bb_ack", "in_reply_to": name})
        if event["event_type"] == "bb_ack" and isinstance(event.get("in_reply_to"), str):
            self._held.acknowledge(event["in_reply_to"])
        self._answers.append(answer)
        if not self._receiver:
            self._early.append(event)
        elif not self._over:
            try:
                self._receiver.event(event)
            except Exception as error:
                # It came, and was acknowledged: what failed is this side's affair.
                self._receiver.fault(as_error(error))

    def fault(self, error: BytebotError) -> None:
        if self._skips():
            return
        self._said = b""
        try:
            if self._receiver and not self._over:
                self._receiver.fault(error)
            self._answers.append(self._said or error_line(error))
        finally:
            self._said = None

    def closed(self, reason: str) -> None:
        raise AssertionError("a reader does not close")

    def _skips(self) -> bool:
        """Lines beyond the most are not taken; those of a repetition were."""
        if self._skip > 0:
            self._skip -= 1
            return True
        if len(self._answers) < MAX_LINES:
            return False
        if len(self._answers) == MAX_LINES:
            self._answers.append(b"")
        return True
