"""Blobs on their way over one connection, in parts as `bb_blob` (BLB-2, BLB-5)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from .codec import Event
from .errors import BytebotError
from .limits import LineLimits
from .names import new_id

#: Bytes, all at once or as they come.
BlobSource = bytes | bytearray | AsyncIterable[bytes]

#: At once, the rest in turn: fewer than a Hub allows.
_MAX_OPEN = 4
#: Silence of the Hub, in seconds.
_IDLE_S = 30.0
_PART_BYTES = 192 * 1024
#: What a part holds beside its data, in bytes.
_ENVELOPE = 2048
#: What may stand in a header.
_MIME = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,126}[\x21-\x7e]")
_GIVEN_UP = {"code": "cancelled", "message": "this blob is not wanted any more", "retryable": False}


@dataclass(frozen=True)
class Blob:
    """A whole blob."""

    mime_type: str
    data: bytes


class Whole(Protocol):
    """Carries a blob at once, beside the events (BLB-9)."""

    async def put(self, scope: str, ref: str, data: bytes | bytearray, mime_type: str) -> Mapping[str, Any]: ...
    async def get(self, scope: str, ref: str) -> BlobReading: ...


class Sink(Protocol):
    """What carries the parts."""

    limits: LineLimits

    @property
    def whole(self) -> Whole | None: ...
    def send(self, event: Mapping[str, Any]) -> None: ...
    async def drained(self) -> None: ...


class BlobReading:
    """A blob on its way; `size` in bytes. `async for piece in reading:`, once; what is behind is held here.

    Raises BytebotError: `internal` where the bytes are not the ref's, `timeout`, `unavailable`.
    """

    def __init__(self, mime_type: str, size: int, pieces: AsyncIterator[bytes], end: Callable[[], None]) -> None:
        self.mime_type = mime_type
        self.size = size
        self._pieces = pieces
        self._end = end

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def read(self) -> Blob:
        """All of it."""
        return Blob(self.mime_type, b"".join([piece async for piece in self]))

    def close(self) -> None:
        """What has not come is not wanted any more."""
        self._end()


class Transfers:
    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._open: dict[str, _Transfer] = {}
        self._room = asyncio.Semaphore(_MAX_OPEN)
        self._gone: BytebotError | None = None

    def settle(self, event: Event) -> bool:
        """Is this about one of them?"""
        name = event.get("in_reply_to")
        transfer = self._open.get(name) if isinstance(name, str) else None
        if not transfer:
            return False
        if event["event_type"] == "bb_error":
            transfer.end(answered=True, error=BytebotError.from_wire(event))
        elif event["event_type"] == "bb_blob":
            transfer.came(event)
        return True

    def close(self, error: BytebotError) -> None:
        self._gone = error
        for transfer in list(self._open.values()):
            transfer.end(error=error)

    async def put(
        self,
        scope: str,
        source: BlobSource,
        *,
        mime_type: str | None = None,
        name: str | None = None,
        size: int | None = None,
    ) -> dict[str, Any]:
        """Returns the block when the Hub has it."""
        size = len(source) if isinstance(source, bytes | bytearray) else size
        must_fit(size or 0, self._sink.limits)
        meant = mime_type or "application/octet-stream"
        async with self._room:
            whole = self._sink.whole
            if whole and isinstance(source, bytes | bytearray) and _MIME.fullmatch(meant):
                ref = f"sha256-{hashlib.sha256(source).hexdigest()}"
                kept = await whole.put(scope, ref, source, meant)
            else:
                kept = await self._put_parts(
                    scope, source, {"mime_type": meant} | ({} if size is None else {"size": size})
                )
        block = {"type": "blob", "ref": kept["ref"], "mime_type": kept["mime_type"], "size": kept["size"]}
        return block if name is None else {**block, "name": name}

    async def _put_parts(self, scope: str, source: BlobSource, about: Mapping[str, Any]) -> Event:
        transfer = self._begin()
        upload = asyncio.ensure_future(self._upload(transfer, scope, about, source))
        answer = asyncio.ensure_future(transfer.next(None))
        try:
            await asyncio.wait([upload, answer], return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await upload
                await asyncio.wait([answer], timeout=_IDLE_S)
            return answer.result() if answer.done() else _late()
        finally:
            answer.cancel()
            upload.cancel()
            transfer.end()
            # What it was doing ends before this does: its source is the caller's again.
            await asyncio.wait([upload])
            if not upload.cancelled():
                upload.exception()

    async def read(self, scope: str, ref: str) -> BlobReading:
        whole = self._sink.whole
        if whole:
            async with self._room:
                return await whole.get(scope, ref)
        await self._room.acquire()
        try:
            transfer = self._begin()
        except BaseException:
            self._room.release()
            raise
        # Its turn lasts until the last part is there, whether or not it was read.
        transfer.ended = self._room.release
        try:
            self._sink.send({"event_type": "bb_blob", "id": transfer.id, "scope": scope, "ref": ref})
            first = await transfer.next()
        except BaseException:
            transfer.end()
            raise
        mime_type = str(first.get("mime_type", "application/octet-stream"))
        return BlobReading(mime_type, int(first.get("size", 0)), _parts(first, transfer, ref), transfer.end)

    async def _upload(self, transfer: _Transfer, scope: str, about: Mapping[str, Any], source: BlobSource) -> None:
        most = min(_PART_BYTES, (self._sink.limits.line_bytes - _ENVELOPE) // 4 * 3)
        part = 0

        async def send(piece: bytes | bytearray | memoryview, last: bool) -> None:
            nonlocal part
            event = {"event_type": "bb_blob", "id": transfer.id, "scope": scope, **(about if part == 0 else {})}
            self._sink.send({**event, "part": part, "last": last, "data": base64.b64encode(piece).decode()})
            part += 1
            try:
                async with asyncio.timeout(_IDLE_S):
                    await self._sink.drained()
            except TimeoutError:
                _late()
            # Others have their turn between two parts.
            await asyncio.sleep(0)

        ready: memoryview | None = None
        async for piece in _pieces(source):
            for at in range(0, len(piece), most):
                if ready is not None:
                    await send(ready, False)
                ready = memoryview(piece)[at : at + most]
        await send(b"" if ready is None else ready, True)

    def _begin(self) -> _Transfer:
        if self._gone:
            raise self._gone
        transfer = _Transfer(new_id("b"), self._over)
        self._open[transfer.id] = transfer
        return transfer

    def _over(self, transfer: _Transfer, answered: bool) -> None:
        del self._open[transfer.id]
        # The Hub need not wait for the rest, or send it.
        if not answered and not self._gone:
            self._sink.send({"event_type": "bb_error", "in_reply_to": transfer.id, **_GIVEN_UP})


class _Transfer:
    """What the Hub says of one, in order."""

    def __init__(self, id: str, over: Callable[[_Transfer, bool], None]) -> None:
        self.id = id
        self.ended: Callable[[], None] = lambda: None
        self._over = over
        self._open = True
        self._events: asyncio.Queue[Event | BytebotError] = asyncio.Queue()

    def came(self, event: Event) -> None:
        self._events.put_nowait(event)
        if event.get("last") is not False:
            self.end(answered=True)

    async def next(self, within: float | None = _IDLE_S) -> Event:
        """What came before an error is still given out."""
        try:
            async with asyncio.timeout(within):
                event = await self._events.get()
        except TimeoutError:
            _late()
        if isinstance(event, BytebotError):
            raise event
        return event

    def end(self, answered: bool = False, error: BytebotError | None = None) -> None:
        if error:
            self._events.put_nowait(error)
        if self._open:
            self._open = False
            self._over(self, answered)
            self.ended()


async def _parts(first: Event, transfer: _Transfer, ref: str) -> AsyncIterator[bytes]:
    digest = hashlib.sha256()
    event, part = first, 0
    try:
        while True:
            if event.get("part") != part:
                raise BytebotError("internal", f"part {part} of {ref} did not come in its turn")
            piece = base64.b64decode(str(event.get("data")))
            digest.update(piece)
            yield piece
            if event.get("last") is True:
                break
            event, part = await transfer.next(), part + 1
        must_be(ref, digest.hexdigest())
    finally:
        transfer.end()


async def _pieces(source: BlobSource) -> AsyncIterator[bytes | bytearray]:
    if isinstance(source, bytes | bytearray):
        yield source
    else:
        async for piece in source:
            yield piece


def must_fit(size: int, limits: LineLimits) -> None:
    """Raises BytebotError `too_large`, or `unavailable` at a Hub that takes none."""
    limit = limits.blob_bytes
    if limit is None:
        raise BytebotError("unavailable", "this Hub takes no blobs: keep content below 256 KiB")
    if size > limit:
        raise BytebotError("too_large", f"a blob of {size} bytes or more; the limit is {limit}")


def must_be(ref: str, digest: str) -> None:
    got = f"sha256-{digest}"
    if got != ref:
        raise BytebotError("internal", f"the bytes that came are {got}, not {ref}")


def _late() -> NoReturn:
    raise BytebotError("timeout", f"the Hub was silent about a blob for {_IDLE_S:.0f} s", retryable=True)
