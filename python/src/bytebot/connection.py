"""The satellite's side of a connection: opening, synced, delivering, closed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .codec import Event, encode
from .errors import BytebotError, report
from .limits import BEFORE_SYNC, LineLimits, to_limits
from .link import Link, Receiver
from .names import ack_name_of, new_id
from .transfers import Transfers, Whole

SYNC_S = 10
REQUEST_S = 30.0
MAX_HELD = 10_000


class Connection:
    def __init__(self, connect: Callable[[Receiver], Link], acks: bool) -> None:
        """`acks`: says of each event that has a name that it came (HTP-10)."""
        self.limits: LineLimits = BEFORE_SYNC
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._acks = acks
        self._handshake: asyncio.Future[Event] | None = None
        self._pending: dict[str, tuple[str, asyncio.Future[Event]]] = {}
        self._held: list[Event] = []
        self._deliver: Callable[[Event], None] | None = None
        self._reason: str | None = None
        self._closing: asyncio.Task[None] | None = None
        #: Why it closed, for whoever still wants to send.
        self.error: BytebotError | None = None
        self.ended: asyncio.Future[str] = self._loop.create_future()
        self.blobs = Transfers(self)
        self._link = connect(self)

    async def sync(self, event: Mapping[str, Any]) -> Event:
        """Sends `bb_sync` and waits for the answer: raises the Hub's error, or `timeout`, the connection closed."""
        self._handshake = self._loop.create_future()
        try:
            if self.error:
                raise self.error
            self.send(event)
            async with asyncio.timeout(SYNC_S):
                return await self._handshake
        except TimeoutError:
            late = (
                f"the Hub did not answer bb_sync within {SYNC_S} s "
                "(a Hub starts its satellites: run by hand, one has nobody to talk to)"
            )
            await self.close(late)
            raise BytebotError("timeout", late) from None
        except BytebotError as error:
            await self.close(error.message)
            raise
        finally:
            self._handshake = None

    def start(self, deliver: Callable[[Event], None]) -> None:
        """Hands over what was held, in order, then everything that comes."""
        self._deliver = deliver
        held, self._held = self._held, []
        for event in held:
            deliver(event)

    def send(self, event: Mapping[str, Any]) -> None:
        """From any thread. Raises BytebotError where it cannot cross; on a closed connection it goes nowhere."""
        line = encode(event, self.limits)
        if threading.get_ident() == self._thread:
            self._link.send(line, event)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._link.send, line, event)

    async def request(self, event: Mapping[str, Any], timeout: float | None = REQUEST_S) -> Event:
        """Sends it, under a fresh id where it has none, and waits for what answers it, `timeout` seconds at most."""
        if self.error:
            raise self.error
        given = event.get("id")
        name = given if isinstance(given, str) else new_id("r")
        kind = str(event.get("event_type"))
        if name in self._pending:
            raise BytebotError("conflict", f"a request with the id {name} is in flight: use a fresh id")
        named = {**event, "id": name}
        line = encode(named, self.limits)
        answer: asyncio.Future[Event] = self._loop.create_future()
        self._pending[name] = kind, answer
        try:
            self._link.send(line, named)
            async with asyncio.timeout(timeout):
                return await answer
        except TimeoutError:
            message = f"no answer to {kind} within {round((timeout or 0) * 1000)} ms"
            raise BytebotError("timeout", message, retryable=True) from None
        finally:
            self._pending.pop(name, None)

    async def drained(self) -> None:
        await self._link.drained()

    @property
    def whole(self) -> Whole | None:
        """Where the link carries blobs whole, beside its events."""
        return getattr(self._link, "whole", None)

    async def close(self, reason: str) -> None:
        if not self._closing and not self.error:
            self.send({"event_type": "bb_bye", "reason": reason[:1000]})
        await self._finish(reason)

    # What the link tells.

    def event(self, event: Event) -> None:
        name = ack_name_of(event) if self._acks else None
        if name is not None:
            self.send({"event_type": "bb_ack", "in_reply_to": name})
        # Copies for an observer: nothing in them is meant for this side.
        if event.get("observed") is not True and self._takes(event):
            return
        if self._deliver:
            self._deliver(event)
        elif len(self._held) < MAX_HELD:
            self._held.append(event)
        else:
            self._held = []
            self.end(f"overloaded: {MAX_HELD} events came before start()")

    def fault(self, error: BytebotError) -> None:
        if self._handshake and not self._handshake.done():
            self._handshake.set_exception(error)
            return
        report(f"an event from the Hub was refused: {error.message}")
        self.send({"event_type": "bb_error", **error.to_wire()})

    def closed(self, reason: str) -> None:
        if self.error:
            return
        why = self._reason or reason
        self.error = BytebotError("unavailable", f"the connection closed: {why}")
        self.blobs.close(self.error)
        waiting = [answer for _, answer in self._pending.values()]
        for each in (self._handshake, *waiting):
            if each and not each.done():
                each.set_exception(self.error)
        if not self.ended.done():
            self.ended.set_result(why)

    def end(self, reason: str) -> None:
        """Says goodbye, and does not wait."""
        task = self._loop.create_task(self.close(reason))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _takes(self, event: Event) -> bool:
        """Is this the connection's own affair, of which no handler hears?"""
        match event["event_type"]:
            case "bb_sync_ack":
                self._accept(event)
            case "bb_ping":
                answered = {"in_reply_to": event["id"]} if isinstance(event.get("id"), str) else {}
                self.send({"event_type": "bb_pong", **answered})
            case "bb_bye":
                reason = event.get("reason")
                self._closing = self._closing or self._loop.create_task(
                    self._finished(reason if isinstance(reason, str) else "the Hub said goodbye")
                )
            case "bb_error":
                if not self._handshake:
                    return self._settle(event)
                if not self._handshake.done():
                    self._handshake.set_exception(BytebotError.from_wire(event))
            case "bb_blob":
                return self._settle(event)
            case _:
                self._settle(event)
                return False
        return True

    def _accept(self, event: Event) -> None:
        if not self._handshake or self._handshake.done():
            return
        try:
            self.limits = to_limits(event["limits"])
        except (KeyError, TypeError, ValueError):
            error = BytebotError("invalid_event", 'bb_sync_ack: "limits" has to say line_bytes, values and depth')
            self._handshake.set_exception(error)
        else:
            self._handshake.set_result(event)

    def _settle(self, event: Event) -> bool:
        """Was this the answer to a request of ours?"""
        if self.blobs.settle(event):
            return True
        kind, answer = self._pending.get(str(event.get("in_reply_to")), (None, None))
        if kind is None or answer is None:
            return False
        if answer.done():
            return True
        if event["event_type"] == "bb_error":
            answer.set_exception(BytebotError.from_wire(event))
        # A control request is acknowledged on some connections before its result comes.
        elif event["event_type"] != "bb_ack" or not kind.startswith("bb_"):
            answer.set_result(event)
        return True

    async def _finish(self, reason: str) -> None:
        self._closing = self._closing or self._loop.create_task(self._finished(reason))
        await asyncio.shield(self._closing)

    async def _finished(self, reason: str) -> None:
        self._reason = self._reason or reason
        await self._link.close(self._reason)
        self.closed(self._reason)
