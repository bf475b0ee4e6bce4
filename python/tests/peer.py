"""The other end of the wire: plain events, written by the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import bytebot as bb
from bytebot.ambient import Run, run_main
from bytebot.codec import encode
from bytebot.limits import WIDE
from bytebot.link import LineReader, Link, Receiver


class Peer:
    """A Hub by hand. Lines cross as bytes, in pieces of the loop's own."""

    def __init__(self) -> None:
        self.sent: list[bb.Event] = []
        self.seen: asyncio.Queue[bb.Event] = asyncio.Queue()
        self.faults: list[bb.BytebotError] = []
        self._reader = LineReader(self)
        self._theirs: LineReader | None = None
        self._receiver: Receiver | None = None
        self.over = False

    def connect(self, receiver: Receiver) -> Link:
        self._receiver = receiver
        self._theirs = LineReader(receiver)
        return _Line(self)

    def send(self, *events: Mapping[str, Any]) -> None:
        self.send_bytes(b"".join(encode(event, WIDE) for event in events))

    def send_bytes(self, piece: bytes) -> None:
        assert self._theirs
        asyncio.get_running_loop().call_soon(self._theirs.push, piece)

    def take(self, line: bytes) -> None:
        self._reader.push(line)

    async def next(self, event_type: str) -> bb.Event:
        """The next event of this type; others are passed over."""
        async with asyncio.timeout(10):
            while True:
                event = await self.seen.get()
                if event.event_type == event_type:
                    return event

    async def accept(self, kind: str, **more: Any) -> bb.Event:
        sync = await self.next("bb_sync")
        self.send(ack(kind, **more))
        return sync

    def event(self, event: bb.Event) -> None:
        self.sent.append(event)
        self.seen.put_nowait(event)

    def fault(self, error: bb.BytebotError) -> None:
        self.faults.append(error)

    def closed(self, reason: str) -> None:
        self.over = True
        if self._receiver:
            self._receiver.closed(reason)


class _Line:
    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def send(self, line: bytes, event: Mapping[str, Any]) -> None:
        if not self._peer.over:
            self._peer.take(line)

    async def drained(self) -> None:
        await asyncio.sleep(0)

    async def close(self, reason: str) -> None:
        await asyncio.sleep(0)
        self._peer.closed(reason)


def ack(kind: str, **more: Any) -> dict[str, Any]:
    return {
        "event_type": "bb_sync_ack",
        "component_id": "c_1",
        "protocol_version": 1,
        "kind": kind,
        "scopes": ["*"],
        "input_capable": kind == "ui",
        "primary": False,
        "controller": False,
        "limits": {"line_bytes": 1024 * 1024, "values": 10_000, "depth": 64},
        "hub": {"name": "bytebot", "version": "0.1.0"},
        **more,
    }


@asynccontextmanager
async def synced(
    kind: bb.Kind,
    setup: Callable[[bb.Satellite], Awaitable[None] | None] = lambda _: None,
    granted: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Peer, bb.Satellite, asyncio.Future[str]]]:
    """A satellite that has synced with a peer and, once `setup` has registered its handlers, started."""
    peer = Peer()
    ready: asyncio.Future[bb.Satellite] = asyncio.get_running_loop().create_future()
    reason: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def main() -> None:
        ctrl = await bb.sync(kind=kind, **options)
        result = setup(ctrl)
        if result is not None:
            await result
        asyncio.get_running_loop().call_soon(ready.set_result, ctrl)
        reason.set_result(await ctrl.start())

    running = asyncio.create_task(run_main(main, Run(peer.connect)))
    await peer.accept(kind, **(granted or {}))
    either: list[asyncio.Future[Any]] = [running, ready]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        await running
    ctrl = await ready
    try:
        yield peer, ctrl, reason
    finally:
        await ctrl.close()
        await asyncio.wait_for(running, 10)
