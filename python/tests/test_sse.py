"""A stream of text/event-stream, as browsers and proxies have it."""

from __future__ import annotations

import tracemalloc

import bytebot as bb
from bytebot.http.sse import SseReader
from bytebot.limits import STANDARD
from bytebot.link import LineReader


class Seen:
    def __init__(self) -> None:
        self.events: list[bb.Event] = []
        self.faults: list[bb.BytebotError] = []

    def event(self, event: bb.Event) -> None:
        self.events.append(event)

    def fault(self, error: bb.BytebotError) -> None:
        self.faults.append(error)

    def closed(self, reason: str) -> None:
        raise AssertionError(reason)


STREAM = (
    b': hello\n\nid: m1f:3.0\ndata: {"event_type":"a","text":"x: y"}\n\n:\n\r\n'
    b'data:{"event_type":"b"}\r\n\r\nevent: message\ndata\ndatabase: {"event_type":"no"}\nretry: 10\n'
    b'data:  {"event_type":"c"}\n\ndat: {"event_type":"no"}\ndata: {"event_type":"half'
)


async def test_events_come_out_whole_however_the_stream_is_cut() -> None:
    for size in range(1, len(STREAM) + 1):
        seen = Seen()
        reader = SseReader(LineReader(seen))
        for at in range(0, len(STREAM), size):
            reader.push(STREAM[at : at + size])
        assert seen.events == [{"event_type": "a", "text": "x: y"}, {"event_type": "b"}, {"event_type": "c"}], size
        assert seen.faults == []


async def test_a_line_without_end_is_counted_not_kept_and_what_follows_is_read() -> None:
    """FRM-5."""
    for start in (b"data: ", b"", b": "):
        seen = Seen()
        reader = SseReader(LineReader(seen, STANDARD))
        piece = b"x" * 65536
        tracemalloc.start()
        reader.push(start)
        for _ in range(640):
            reader.push(piece)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 * STANDARD.line_bytes
        reader.push(b'\ndata: {"event_type":"after"}\n\n')
        assert seen.events == [{"event_type": "after"}]
        assert [each.code for each in seen.faults] == (["too_large"] if start == b"data: " else [])
