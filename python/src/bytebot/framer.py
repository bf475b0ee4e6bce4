"""Splits a byte stream into lines on 0x0A, whatever the pieces it arrives in (FRM-1 to FRM-5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class TooLong:
    """A line over the limit was skipped whole."""

    #: Its length in bytes.
    size: int


class Framer:
    """Holds at most `limit` bytes: what is longer is counted and dropped until its newline."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = bytearray()
        self._size = 0

    def push(self, piece: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in this piece, without their newlines; blank ones are left out."""
        first, *others = piece.split(b"\n")
        self._hold(first)
        if not others:
            return
        yield from self.end()
        for line in others[:-1]:
            yield from self._finish(line, len(line))
        self._hold(others[-1])

    def end(self) -> Iterator[bytes | TooLong]:
        """The stream ended: a last line without its newline still counts (FRM-2)."""
        held, size = bytes(self._held), self._size
        self._held.clear()
        self._size = 0
        yield from self._finish(held, size)

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._is_too_long(self._size):
            self._held.clear()
        else:
            self._held += part

    def _finish(self, line: bytes, size: int) -> Iterator[bytes | TooLong]:
        if not self._is_too_long(size):
            line = line.removesuffix(b"\r")
            if len(line) <= self.limit:
                if line.strip(b" \t"):
                    yield line
                return
        yield TooLong(size)

    def _is_too_long(self, size: int) -> bool:
        """One byte of grace for the 0x0D that may still be dropped."""
        return size > self.limit + 1
