"""The lines of a stream: those that wait, and those that were written and may be wanted again (HTP-7, HTP-10)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .headers import KEPT


@dataclass
class Entry:
    line: bytes
    cursor: str | None
    #: What an acknowledgement of it names.
    name: str | None
    acknowledged: bool = False


class Held:
    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        #: Of all lines, counted from the first: those that are not kept any more, and those that were written.
        self._dropped = 0
        self._written = 0
        self._kept = 0
        #: Bytes that wait.
        self.waiting = 0

    def push(self, entry: Entry) -> None:
        self._entries.append(entry)
        self.waiting += len(entry.line)

    def take(self) -> Entry | None:
        """The next to be written."""
        at = self._written - self._dropped
        if at == len(self._entries):
            return None
        entry = self._entries[at]
        self._written += 1
        self.waiting -= len(entry.line)
        self._kept += len(entry.line)
        while self._kept > KEPT and self._written - self._dropped > 1:
            self._drop()
        return entry

    def received(self, count: int) -> bool:
        """The peer has so many; False where what it then misses is not kept, or was never written."""
        if not self._dropped <= count <= self._written:
            return False
        while self._dropped < count:
            self._drop()
        return True

    def received_cursor(self, cursor: str) -> bool:
        """It has everything up to the event with this cursor."""
        for at in range(self._written - self._dropped):
            if self._entries[at].cursor == cursor:
                return self.received(self._dropped + at + 1)
        return False

    def acknowledge(self, name: str) -> None:
        for at in range(self._written - self._dropped):
            if self._entries[at].name == name:
                self._entries[at].acknowledged = True

    def rewind(self, unacknowledged: bool) -> None:
        """What was written goes again: all that is kept, or what has a name and was not acknowledged."""
        written = [self._entries.popleft() for _ in range(self._written - self._dropped)]
        again = [each for each in written if not unacknowledged or (each.name and not each.acknowledged)]
        self._entries.extendleft(reversed(again))
        self._written = self._dropped
        self._kept = 0
        self.waiting += sum(len(each.line) for each in again)

    def _drop(self) -> None:
        self._kept -= len(self._entries.popleft().line)
        self._dropped += 1
