"""One reader of an app's `events()`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from ..codec import Event
from ..errors import BytebotError
from ..scope import encloses

#: What may wait for a reader that does not read.
_MAX_WAITING = 10_000
#: With more than that a reader is behind.
_BEHIND = 1000
#: What a merged delta may grow to, and what deltas may add to others that wait, in characters.
_MERGED_SIZE, _MAX_JOINED = 64 * 1024, 32 * 1024 * 1024


class Watcher:
    """Events that wait for their reader, in their order.

    Where it is behind, a delta joins the one before it in its block (CHK-7): a fast model pushes nothing else out.
    """

    def __init__(self, scope: str, types: frozenset[str] | None) -> None:
        self._scope = scope
        self._types = types
        self._waiting: deque[_Slot] = deque()
        #: The last that waits of each scope.
        self._last: dict[str, _Slot] = {}
        self._joined = 0
        self._arrived = asyncio.Event()
        self._ended = False
        self._error: BytebotError | None = None

    def add(self, event: Event) -> None:
        at = event.get("scope")
        if self._ended or (self._types is not None and event["event_type"] not in self._types):
            return
        if self._scope != "*" and not (isinstance(at, str) and encloses(self._scope, at)):
            return
        last = self._last.get(at) if isinstance(at, str) else None
        if last and len(self._waiting) > _BEHIND and self._join(last, event):
            return
        if len(self._waiting) >= _MAX_WAITING:
            fix = "read faster, or narrow it by scope and types"
            message = f'events("{self._scope}") fell {_MAX_WAITING} events behind: {fix}'
            self.end(BytebotError("overloaded", message))
            return
        slot = _Slot(event)
        self._waiting.append(slot)
        if isinstance(at, str):
            self._last[at] = slot
        self._arrived.set()

    def end(self, error: BytebotError | None = None) -> None:
        """Nothing comes any more, but for what waits; then it raises the error."""
        if not self._ended:
            self._ended, self._error = True, error
            self._arrived.set()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._waiting:
                yield self._take()
            if self._ended:
                break
            self._arrived.clear()
            await self._arrived.wait()
        if self._error:
            raise self._error

    def _take(self) -> Event:
        slot = self._waiting.popleft()
        self._joined -= slot.joined
        at = slot.event.get("scope")
        if isinstance(at, str) and self._last.get(at) is slot:
            del self._last[at]
        return slot.event

    def _join(self, slot: _Slot, event: Event) -> bool:
        merged = merge_deltas(slot.event, event)
        if merged is None or self._joined + len(event["delta"]) > _MAX_JOINED:
            return False
        slot.event = merged
        slot.joined += len(event["delta"])
        self._joined += len(event["delta"])
        return True


class _Slot:
    """An event that waits."""

    def __init__(self, event: Event) -> None:
        self.event = event
        #: Characters that were joined to it.
        self.joined = 0


def merge_deltas(first: Event, following: Event) -> Event | None:
    """Two deltas as one, where the second follows the first in the same block: the text of both, the last `n`, and how
    many deltas it stands for (CHK-7). None where they are not neighbours, or it would grow beyond 64 Ki characters.
    """
    try:
        if any(first[field] != following[field] for field in _BLOCK):
            return None
        delta, merged = first["delta"] + following["delta"], following.get("merged", 1)
        if first["kind"] != "block_delta" or following["n"] - merged != first["n"] or len(delta) > _MERGED_SIZE:
            return None
    except (KeyError, TypeError):
        return None  # no delta, or not one of the Hub's
    return Event({**following, "delta": delta, "merged": first.get("merged", 1) + merged})


_BLOCK = ("event_type", "kind", "index", "block_type", "loop_id", "round", "attempt")
