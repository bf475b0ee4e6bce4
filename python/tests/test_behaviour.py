"""What every transport does, whatever carries it.

Each docstring is the name of its test in packages/bytebot/test/transport/suite.ts or suite-lines.ts, and the last test
here compares them: neither side has one that the other lacks.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from behaviour import TRANSPORTS, Near, until

import bytebot as bb
from bytebot.limits import BEFORE_SYNC, STANDARD

SUITE = Path(__file__).parents[2] / "packages/bytebot/test/transport"


@pytest.fixture(params=list(TRANSPORTS))
async def near(request: pytest.FixtureRequest) -> AsyncIterator[Near]:
    async with TRANSPORTS[request.param]() as opened:
        yield opened


def refused(work: Callable[[], object]) -> str:
    with pytest.raises(bb.BytebotError) as caught:
        work()
    return caught.value.code


async def test_order(near: Near) -> None:
    """events arrive whole and in the order they were sent, both ways (CON-1)"""
    for n in range(2000):
        near.send({"event_type": "count", "n": n})
    echoes = await near.count(2000)
    assert [each.event for each in echoes] == [{"event_type": "count", "n": n} for n in range(2000)]


async def test_text(near: Near) -> None:
    """text of any language, control characters and line separators come back as they were (FRM-3)"""
    text = "añ€😀\u2028\u2029\u0085\r\n\t\0\u007f\ufeff\uffff👩‍👩‍👧‍👦"
    near.send({"event_type": "text", "text": text})
    assert (await near.next("echo")).event == {"event_type": "text", "text": text}


async def test_changed(near: Near) -> None:
    """an event changed after it was sent does not change what was sent, or refuses to"""
    event: dict[str, Any] = {"event_type": "count", "n": 1}
    near.send(event)
    event["n"] = 2
    near.send(event)
    assert [each.event["n"] for each in await near.count(2)] == [1, 2]


async def test_halves(near: Near) -> None:
    """half a character is replaced in text and refused in a name (FRM-8)"""
    near.send({"event_type": "text", "text": "cut \ud83d here"})
    assert refused(lambda: near.send({"event_type": "text", "id": "cut \ud83d here"})) == "invalid_event"
    assert (await near.next("echo")).event["text"] == "cut \ufffd here"


async def test_disagreed(near: Near) -> None:
    """what readers of JSON disagree on is refused, and the link goes on (FRM-6, FRM-7)"""
    bad: list[tuple[str, dict[str, Any]]] = [
        ("invalid_event", {"event_type": "x", "n": 2**53}),
        ("invalid_event", {"event_type": "x", "id": "a\0b"}),
        ("invalid_event", {"event_type": "x", "deep": [{"__proto__": {"admin": True}}]}),
        ("invalid_event", {"event_type": "x", "constructor": 1}),
        ("invalid_event", {"event_type": ""}),
        ("too_large", {"event_type": "x", "deep": nested(64)}),
    ]
    assert [refused(lambda event=event: near.send(event)) for _, event in bad] == [code for code, _ in bad]  # type: ignore[misc]
    near.send({"event_type": "deep enough", "deep": nested(62)})
    await near.next("echo")


def nested(depth: int) -> Any:
    return 0 if depth == 0 else [nested(depth - 1)]


async def test_no_json(near: Near) -> None:
    """an event that JSON cannot carry is a fault, and the link goes on"""
    assert refused(lambda: near.send({"event_type": "x", "n": object()})) == "invalid_event"
    near.send({"event_type": "after"})
    assert (await near.next("echo")).event == {"event_type": "after"}


async def test_throws(near: Near) -> None:
    """a receiver that throws has a fault of its own, and the link goes on"""
    near.send({"event_type": "throw"})
    assert "the receiver failed" in (await near.next("refused")).text
    near.send({"event_type": "after"})
    await near.next("echo")


async def test_closed_here(near: Near) -> None:
    """closed here, it is closed there, once; nothing is told or sent afterwards"""
    near.send({"event_type": "before"})
    await near.next("echo")
    await asyncio.gather(near.close("we are done"), near.close("again"))
    near.send({"event_type": "after"})
    await near.drained()
    await near.close("again")
    await until(lambda: near.nothing_left() or None, lambda: "something is left")
    assert near.closings == ["we are done"]
    assert len(near.events) == 1


async def test_closed_there(near: Near) -> None:
    """closed there, it is closed here, once, after the last event"""
    near.send({"event_type": "flood", "count": 20_000})
    near.send({"event_type": "close"})
    await near.ends()
    assert len(near.events) == 20_000
    await near.close("we too")
    await until(lambda: near.nothing_left() or None, lambda: "something is left")
    assert len(near.closings) == 1


async def test_closed_both(near: Near) -> None:
    """closed on both sides at once, each is told once"""
    near.send({"event_type": "close"})
    await near.close("we are done")
    await until(lambda: near.nothing_left() or None, lambda: "something is left")
    assert len(near.closings) == 1


async def test_just_before(near: Near) -> None:
    """what was sent just before the close still arrives, and is answered"""
    last = {"event_type": "last", "text": "x" * 300_000}
    near.send(last)
    await near.close("we are done")
    assert near.events == [{"event_type": "echo", "event": last}]


async def test_held_up(near: Near) -> None:
    """a far end that does not read holds the sender up; when it reads again, all arrives"""
    go_on = near.stall()
    for _ in range(80):
        near.send({"event_type": "fill", "text": "x" * 100_000})
    drained = asyncio.ensure_future(near.drained())
    await asyncio.wait([drained], timeout=0.05)
    assert not drained.done()
    go_on()
    await drained
    await near.count(80)


# What every transport does that carries events as lines: the far end writes bytes of our choice.


async def test_crlf(near: Near) -> None:
    """CRLF, blank lines and several records in one write are read as lines (FRM-1)"""
    near.write('{"event_type":"a"}\r\n\n  \r\n{"event_type":"b"}\n{"event_type":"c","text":"\\r\\n"}\n')
    assert await near.count(3) == [{"event_type": "a"}, {"event_type": "b"}, {"event_type": "c", "text": "\r\n"}]
    assert near.faults == []


async def test_separators(near: Near) -> None:
    """U+2028 and U+2029, raw or escaped, are text within a line (FRM-3)"""
    near.write('{"event_type":"a","text":"\u2028\u2029"}\n', '{"event_type":"a","text":"\\u2028\\u2029"}\n')
    assert await near.count(2) == [{"event_type": "a", "text": "\u2028\u2029"}] * 2


async def test_bytewise(near: Near) -> None:
    """a record that arrives byte by byte is one event, its characters whole (FRM-1)"""
    line = '{"event_type":"a","text":"ñ€😀"}\n'.encode()
    near.write(*(line[at : at + 1] for at in range(len(line))))
    assert await near.count(1) == [{"event_type": "a", "text": "ñ€😀"}]


async def test_last_record(near: Near) -> None:
    """a last record without its newline counts, once the far end has closed (FRM-2)"""
    near.write('{"event_type":"a"}\n{"event_type":"last"}')
    near.send({"event_type": "close"})
    await near.ends()
    assert near.events == [{"event_type": "a"}, {"event_type": "last"}]


async def test_line_limits(near: Near) -> None:
    """before bb_sync a line holds 16 KiB, after it what was granted; one byte more is refused by size, and the link goes on (FRM-5)"""  # noqa: E501
    empty = len('{"event_type":"a","text":""}')
    for limits in (BEFORE_SYNC, STANDARD):
        # What a satellite sends is bound by what it was granted, and never leaves here.
        near.limits = limits
        near.send({"event_type": "a", "text": "x" * (limits.line_bytes - empty)})
        assert len((await near.next("echo")).event["text"]) == limits.line_bytes - empty
        text = "x" * (limits.line_bytes - empty + 1)
        assert refused(lambda text=text: near.send({"event_type": "a", "text": text})) == "too_large"  # type: ignore[misc]
    near.limits = STANDARD
    # What it is sent is bound by what it can take.
    most = near.takes.line_bytes
    full = most - empty
    near.write('{"event_type":"a","text":"', ("x", full), '"}\n{"event_type":"a","text":"', ("x", full + 1), '"}\n')
    near.write('{"event_type":"after"}\n')
    assert len((await near.next("a")).text) == full
    await near.next("after")
    (fault,) = near.faults
    assert fault.code == "too_large"
    assert f"{most + 1} bytes from the Hub" in fault.message


async def test_noise_between(near: Near) -> None:
    """banners, tracebacks, half a line, NaN and what is not UTF-8 are faults; the events between them arrive (FRM-4)"""
    noise: list[tuple[str, str | bytes]] = [
        ("parse_error", "Loading model… done"),
        ("parse_error", "Traceback (most recent call last):"),
        ("parse_error", '{"event_type":"half'),
        ("parse_error", '{"event_type":"a","n":NaN}'),
        ("parse_error", '\ufeff{"event_type":"a"}'),
        ("parse_error", b'{"event_type":"a","text":"\xc3\x28"}'),
        ("invalid_event", '["event_type","a"]'),
        ("invalid_event", "42"),
        ("invalid_event", '{"type":"a"}'),
        ("invalid_event", '{"event_type":"a","n":1e400}'),
        ("invalid_event", '{"event_type":"a","n":9007199254740993}'),
        ("invalid_event", '{"event_type":"a","deep":[{"__proto__":{"admin":true}}]}'),
        ("invalid_event", '{"event_type":"a","id":"x\\u0000y"}'),
        ("invalid_event", '{"event_type":"a","scope":"\\ud800"}'),
    ]
    for at, (_, line) in enumerate(noise):
        near.write(line, f'\n{{"event_type":"between","at":{at}}}\n')
    await near.count(len(noise))
    assert [each.code for each in near.faults] == [code for code, _ in noise]


async def test_twice(near: Near) -> None:
    """of a key given twice, what was checked is what is delivered (FRM-7)"""
    near.write('{"event_type":"a","scope":"a","scope":"b"}\n{"event_type":"a","scope":"a","scope":"\\u0000"}\n')
    near.write('{"event_type":"after"}\n')
    await near.next("after")
    assert (await near.next("a")).scope == "b"
    assert [each.code for each in near.faults] == ["invalid_event"]


async def test_too_deep(near: Near) -> None:
    """what nests too deep or holds too many values is refused before it is parsed (FRM-6)"""
    # None of these is whole JSON: had it been parsed, it would be a parse_error.
    near.write(("[", 500_000), "\n", '{"event_type":"a","deep":', ("[", 5000), "\n")
    values = near.takes.values
    near.write('{"event_type":"a","list":[', ('{"n":1},', values // 2 + 1), "\n")
    near.write('{"event_type":"a","list":[', ("0,", values + 1), "\n", '{"event_type":"after"}\n')
    await near.next("after")
    assert [each.code for each in near.faults] == ["too_large"] * 4


async def test_noise_ends(near: Near) -> None:
    """99 lines of noise are borne, 100 end the link, which names itself and the last of them (FRM-11)"""
    near.write(("noise\n", 99), '{"event_type":"between"}\n', ("noise\n", 10), '{"event_type":"between"}\n')
    await near.count(2)
    assert near.closings == []
    near.write(("noise\n", 10), "the last straw\n", '{"event_type":"never"}\n')
    reason = await near.ends()
    for words in ("the Hub", "the last straw", "stderr"):
        assert words in reason
    await near.close("again")
    assert (len(near.faults), len(near.events)) == (120, 2)


async def test_noise_forgiven(near: Near) -> None:
    """an event now and then does not excuse a stream of noise, but ten lines for each event (FRM-11)"""
    parts: list[str | bytes | tuple[str, int]] = [("noise\n", 10), '{"event_type":"x"}\n']
    near.write(*(parts * 50))
    await near.count(50)
    assert near.closings == []
    near.write(("noise\n", 98), '{"event_type":"x"}\n', ("noise\n", 98), '{"event_type":"never"}\n')
    await near.ends()
    assert len(near.events) == 51


def test_the_suites_of_both_languages_have_the_same_tests() -> None:
    theirs: list[str] = []
    for name in ("suite.ts", "suite-lines.ts"):
        theirs += re.findall(r'\btest\(\s*"((?:[^"\\]|\\.)*)"', (SUITE / name).read_text())
    tests = [each for name, each in vars(sys.modules[__name__]).items() if name.startswith("test_")]
    ours = [str(test.__doc__) for test in tests if "near" in test.__annotations__]
    assert sorted(ours) == sorted(theirs)
    assert len(theirs) > 20
