"""text/event-stream, stripped down to the lines of the wire in it."""

from __future__ import annotations

from ..link import LineReader

#: What is kept of a name is enough to see that it is another.
_NAME = len(b"data") + 1


class SseReader:
    """What follows `data:` goes on to `reader` as it comes, whose own limit bounds it (FRM-5).

    Comments and other fields are skipped. An event has one `data` field, as an event of the wire is one line.
    """

    def __init__(self, reader: LineReader) -> None:
        self._reader = reader
        #: Where in a line we stand: before its colon, at the first byte of `data`, in a value that counts, in another.
        self._state = "field"
        self._name = b""

    def push(self, piece: bytes) -> None:
        *ended, rest = piece.split(b"\n")
        for part in ended:
            self._part(part + b"\n")
            self._state, self._name = "field", b""
        if rest:
            self._part(rest)

    def _part(self, part: bytes) -> None:
        """Of one line."""
        if self._state == "field":
            name, colon, part = (self._name + part).partition(b":")
            if not colon:
                self._name = name[:_NAME]
                return
            self._state = "first" if name == b"data" else "skip"
        if self._state == "first" and part:
            part = part.removeprefix(b" ")
            self._state = "data"
        if self._state == "data" and part:
            self._reader.push(part)
