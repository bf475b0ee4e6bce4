"""The wire in Python: framing, checks and scopes (hard cases 1 to 7)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from words import OWN, PARTS, of_python, of_typescript

from bytebot import codec, large
from bytebot.codec import Event, decode, encode, well_formed
from bytebot.errors import ERROR_CODES, BytebotError
from bytebot.framer import Framer, TooLong
from bytebot.limits import BEFORE_SYNC, STANDARD, WIDE
from bytebot.link import LineReader
from bytebot.scope import encloses, encode_segment, is_scope, to_scope

ROOT = Path(__file__).parents[2]
TEXT = st.text(st.characters(codec="utf-8"))


def lines_of(framer: Framer, *pieces: bytes) -> list[bytes | TooLong]:
    return [line for piece in pieces for line in framer.push(piece)] + list(framer.end())


def event(**fields: Any) -> dict[str, Any]:
    return {"event_type": "com.example/any", **fields}


def refused(line: bytes | str, code: str, words: str | None = None, limits: Any = STANDARD) -> BytebotError:
    with pytest.raises(BytebotError, match=words) as caught:
        decode(line.encode() if isinstance(line, str) else line, limits)
    assert caught.value.code == code
    return caught.value


def test_a_stream_cut_at_every_offset_gives_the_same_events_and_no_replacement_characters() -> None:
    """Hard case 1 (FRM-1, FRM-2)."""
    texts = ["😀€é", "two", "last"]
    stream = b"\r\n".join(encode(event(text=text))[:-1] for text in texts)
    for cut in range(len(stream) + 1):
        lines = lines_of(Framer(1000), stream[:cut], stream[cut:])
        assert [decode(line)["text"] for line in lines if isinstance(line, bytes)] == texts
    single = lines_of(Framer(1000), *(bytes([byte]) for byte in stream))
    assert [decode(line)["text"] for line in single if isinstance(line, bytes)] == texts


@given(st.lists(TEXT, max_size=5), st.data())
def test_events_come_back_as_they_were_however_the_stream_is_cut(texts: list[str], data: st.DataObject) -> None:
    """FRM-1, FRM-3."""
    stream = b"".join(encode(event(text=text, nested=[{"text": text}])) for text in texts)
    pieces, at = [], 0
    for cut in sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6))):
        pieces.append(stream[at:cut])
        at = cut
    lines = lines_of(Framer(100_000), *pieces, stream[at:])
    decoded = [decode(line) for line in lines if isinstance(line, bytes)]
    assert decoded == [event(text=text, nested=[{"text": text}]) for text in texts]


def test_line_separators_are_text_within_a_line_raw_and_escaped_and_are_written_escaped() -> None:
    """Hard case 2 (FRM-3)."""
    raw = '{"event_type":"com.example/any","text":"a\u2028b\u2029c\x85d"}'.encode()
    lines = lines_of(Framer(1000), raw + b"\n")
    assert lines == [raw]
    assert decode(raw)["text"] == "a\u2028b\u2029c\x85d"
    sent = encode(event(text="a\u2028b\u2029c"))
    assert b"\\u2028" in sent
    assert len(sent.decode().splitlines()) == 1
    assert decode(sent[:-1])["text"] == "a\u2028b\u2029c"


def test_a_line_over_the_limit_is_skipped_with_its_size_memory_stays_flat_and_the_next_one_arrives() -> None:
    """Hard case 3 (FRM-5)."""
    framer = Framer(1024)
    exact = b'{"event_type":"' + b"x" * (1024 - 17) + b'"}'
    assert len(exact) == 1024
    assert lines_of(framer, exact + b"\r\n" + exact + b"x\nnext") == [exact, TooLong(1025), b"next"]
    tracemalloc.start()
    piece = b"x" * 65536
    for _ in range(3200):  # 200 MB
        assert list(framer.push(piece)) == []
    assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    tracemalloc.stop()
    assert list(framer.push(b"\n{}\n")) == [TooLong(3200 * 65536), b"{}"]
    assert refused(b" " * 16385, "too_large", "16385 bytes; the limit is 16384", BEFORE_SYNC)


def test_noise_is_told_from_events_and_blank_lines_are_nothing() -> None:
    """Hard case 4 (FRM-4)."""
    noise = [b"Loading model...", b'{"event_ty', b"Traceback (most recent call last):", b"NaN", b"\xef\xbb\xbf{}"]
    noise.append(b"\xff")
    stream = b"\n".join([noise[0], b"", b" \t", *noise[1:], encode(event())])
    lines = lines_of(Framer(1000), stream)
    assert lines[:-1] == noise
    for line in noise:
        refused(line, "parse_error")
    refused(b'{"event_type":"a/b","x":NaN}', "parse_error")
    refused(b'{"event_type":"a/b","x":-Infinity}', "parse_error")
    for line in (b"[]", b"null", b'"text"', b"1"):
        refused(line, "invalid_event", "an event is a JSON object, and this is not one")
    for line in (b"{}", b'{"event_type":1}', b'{"event_type":""}'):
        refused(line, "invalid_event", '"event_type" is missing: every event says what it is')


def test_what_nests_too_deep_or_holds_too_much_is_refused_unparsed_and_soon() -> None:
    """Hard case 5 (FRM-6)."""

    def nested(depth: int, pad: str = "") -> str:
        return f'{{"event_type":"a/b","pad":"{pad}","x":{"[" * (depth - 1)}{"]" * (depth - 1)}}}'

    for pad in ("", "[" * 5000):
        assert decode(nested(64, pad).encode())
        refused(nested(65, pad), "too_large", "nested deeper than 64")
    refused("[" * 1300, "too_large", "nested deeper than 64")
    refused('{"event_type":"a/b","x":' + "[" * 500_000, "too_large", "nested deeper than 64|more than")
    begun = perf_counter()
    refused(
        '{"event_type":"a/b","x":[' + ",".join(f'{{"k{at}":1}}' for at in range(80_000)) + "]}",
        "too_large",
        "more than",
    )
    # However often a string seems to begin, its length is read once.
    refused('{"event_type":"a/b","x":"' + '\\"' * 500_000, "parse_error")
    assert perf_counter() - begun < 5
    many = json.dumps(event(x=list(range(9_997))))
    assert len(decode(many.encode())["x"]) == 9_997
    refused(json.dumps(event(x=list(range(9_999)))), "too_large", "more than 10000 values")
    assert decode(json.dumps(event(x=list(range(20_000)))).encode(), WIDE)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"event_type":"a/b","x":[{"__proto__":1}]}', 'the key "__proto__" in x is not allowed'),
        ('{"event_type":"a/b","constructor":1}', 'the key "constructor" in event is not allowed'),
        ('{"event_type":"a/b","x":{"\\u0070rototype":1}}', 'the key "prototype"'),
        ('{"event_type":"a/b","a\\\\b":1}', "a key in event holds a backslash: name it without"),
        ('{"event_type":"a/b","x":1e400}', '"x" is not a finite number'),
        ('{"event_type":"a/b","x":[-1e400]}', '"x" is not a finite number'),
        ('{"event_type":"a/b","x":9007199254740993}', r'"x" is beyond 2\^53-1: send it as a string'),
        ('{"event_type":"a/b","x":1e20}', r'"x" is beyond 2\^53-1'),
        (f'{{"event_type":"a/b","x":{"9" * 5000}}}', '"x" is not a finite number'),
        ('{"event_type":"a/b","id":"a\\u0000b"}', '"id" holds a NUL or half a character'),
        ('{"event_type":"a/b","scope":"u_\\ud800"}', "names are refused, not repaired"),
        ('{"event_type":"a/b","\\udc00":1}', "a key in event holds half a character"),
    ],
)
def test_what_readers_of_json_disagree_on_is_refused(line: str, words: str) -> None:
    """Hard case 6 (FRM-7, FRM-8)."""
    refused(line, "invalid_event", words)


def test_of_a_key_given_twice_the_value_that_is_checked_is_the_one_delivered() -> None:
    """Hard case 6 (FRM-7)."""
    assert decode(b'{"event_type":"a/b","scope":"a","scope":"b"}')["scope"] == "b"
    refused('{"event_type":"a/b","id":"fine","id":"\\u0000"}', "invalid_event")


def test_half_a_character_in_text_becomes_the_replacement_character_both_ways_and_pairs_stay_whole() -> None:
    """Hard case 7 (FRM-8)."""
    got = decode(b'{"event_type":"a/b","text":"a\\ud83d","list":["\\ude00\\ud83d\\ude00"]}')
    assert (got["text"], got["list"]) == ("a\ufffd", ["\ufffd😀"])
    assert decode(encode(event(text="a\ud83d", list=["\ud83d\ude00"]))[:-1]) == event(text="a\ufffd", list=["😀"])
    with pytest.raises(BytebotError, match="names are refused, not repaired"):
        encode(event(id="a\ud83d"))
    assert well_formed("😀"[:1]) == "😀"


def test_what_cannot_cross_the_wire_is_refused_where_it_is_sent() -> None:
    circle: dict[str, Any] = event()
    circle["self"] = circle
    for wrong, code, words in [
        (circle, "too_large", "nested deeper than 64"),
        (event(x=float("nan")), "invalid_event", "not a finite number"),
        (event(x={1, 2}), "invalid_event", '"x" is a set, which JSON cannot carry'),
        (event(x={1: 2}), "invalid_event", "a key in x is a int: a key is a text"),
        (event(x=10**400), "invalid_event", "beyond 2"),
        (event(x="x" * 2**20), "too_large", "the limit here is 1048576"),
        ({"text": "hi"}, "invalid_event", '"event_type" is missing'),
    ]:
        with pytest.raises(BytebotError, match=words) as caught:
            encode(wrong)
        assert caught.value.code == code


def test_an_event_is_a_dict_whose_fields_are_attributes_too() -> None:
    chunk = Event(event_type="infer_chunk", scope="u_1", kind="block_start")
    assert (chunk.scope, chunk["kind"], chunk.get("block")) == ("u_1", "block_start", None)
    with pytest.raises(AttributeError, match='this infer_chunk has no field "delta"'):
        _ = chunk.delta


@given(st.lists(st.text(), min_size=1, max_size=9))
def test_any_ids_make_a_scope_of_their_own_or_none(ids: list[str]) -> None:
    """SCP-1 to SCP-4."""
    try:
        scope = to_scope(*ids)
    except BytebotError as error:
        assert error.code == "invalid_params"
        return
    assert is_scope(scope)
    assert len(scope.split("/")) == len(ids)
    assert encloses(to_scope(*ids[:1]), scope)


@given(TEXT, TEXT)
def test_two_ids_never_make_one_scope(one: str, other: str) -> None:
    assert (encode_segment(one) == encode_segment(other)) == (one == other)


@pytest.mark.parametrize("scope", ["u_7f3a", "u/c_2/~a1", "a%20b", "auth0%7C7", "%2E%2E", "a/b/c/d/e/f/g/h", "x" * 128])
def test_these_are_scopes(scope: str) -> None:
    assert is_scope(scope)


@pytest.mark.parametrize(
    "scope",
    [
        "",
        "/",
        "a/",
        "..",
        "a/.",
        "~a",
        "a/~~b",
        "a b",
        "a%2f",
        "%41",
        "%FF",
        "a%7E".lower(),
        "x" * 129,
        "a/" * 8 + "a",
        7,
    ]
    + ["/".join(["x" * 127] * 5)],
)
def test_these_are_not(scope: object) -> None:
    assert not is_scope(scope)


def test_a_user_id_cannot_become_a_path() -> None:
    assert to_scope("auth0|7", "x/y", "..", "~a") == "auth0%7C7/x%2Fy/%2E%2E/%7Ea"
    assert encloses("a", "a/b")
    assert not encloses("a", "ab")
    assert not encloses("a", "A")
    with pytest.raises(BytebotError, match="an id with half a character makes no scope"):
        to_scope("\ud800")
    with pytest.raises(BytebotError, match="makes no scope: 1 to 8 parts of 1 to 128 bytes, 512 in all"):
        to_scope("")


def test_errors_have_the_codes_of_the_other_implementation_and_an_unknown_one_is_internal() -> None:
    """ERR-1, ENV-9."""
    source = (ROOT / "packages/bytebot/src/wire/errors.ts").read_text()
    listed = source.split("errorCodes = [")[1].split("]")[0]
    assert [part.strip(' ",\n') for part in listed.split(",") if part.strip()] == list(ERROR_CODES)
    unknown = BytebotError.from_wire({"code": "quota_gone", "message": "no", "retryable": True})
    assert (unknown.code, unknown.message, unknown.retryable) == ("internal", "no", True)
    assert BytebotError("timeout", "late", retry_after_ms=5).to_wire() == {
        "code": "timeout",
        "message": "late",
        "retryable": False,
        "retry_after_ms": 5,
    }


def test_errors_have_the_words_of_the_other_implementation() -> None:
    theirs = of_typescript()
    ours = of_python()
    assert len(ours) > 70
    other = {said for said in ours if said not in theirs and said not in PARTS}
    assert other == OWN, "what both say is said in the same words; what Python alone says is listed as its own"
    assert {part for part in PARTS.values() if not any(part in said for said in theirs)} == set()


def test_the_typed_events_are_those_of_the_schema() -> None:
    script = Path(__file__).parents[1] / "scripts" / "generate_events.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_lines_that_the_hub_refuses_as_such_are_refused_here_with_the_same_code() -> None:
    rejected = ROOT / "spec/transcripts/rejected"
    no_json = (rejected / "parse_error.jsonl").read_bytes().split(b"\n")
    # What comes behind an empty id is of its type's schema, which is the Hub's to check.
    no_event = (
        (rejected / "invalid_event.jsonl").read_bytes().split(b'{"event_type":"bb_ping","id":""}')[0].split(b"\n")
    )
    for code, lines in (("parse_error", no_json), ("invalid_event", no_event)):
        told = [line for line in lines if line.strip()]
        assert told
        for line in told:
            refused(line, code)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab é😀[{,:"), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=8), st.integers(12, 60), st.integers(0, 2))
def test_a_long_line_is_read_in_steps_as_it_is_read_at_once(values: list[Any], step: int, space: int) -> None:
    """FRM-1, FRM-6."""
    line = json.dumps({"event_type": "a/b", "x": values}, ensure_ascii=space == 1, indent=space or None).encode()
    with pytest.MonkeyPatch.context() as patch:
        at_once = decode(line)
        patch.setattr(codec, "LONG", 0)
        patch.setattr(large, "_STEP", step)
        assert decode(line) == at_once


@given(st.lists(JSON, max_size=4), st.integers(12, 40), st.data())
def test_a_long_line_that_is_damaged_is_refused_in_steps_where_it_is_refused_at_once(
    values: list[Any], step: int, data: st.DataObject
) -> None:
    """FRM-4, FRM-7."""
    line = bytearray(json.dumps({"event_type": "a/b", "x": values}, ensure_ascii=False).encode())
    at = data.draw(st.integers(0, len(line) - 1))
    how = data.draw(st.sampled_from(["left out", "doubled", "changed"]))
    byte = data.draw(st.sampled_from(b'"\\[]{},:-0 InNu\xc3'))
    line[at : at + 1] = {"left out": b"", "doubled": bytes(line[at : at + 1] * 2), "changed": bytes([byte])}[how]

    def outcome(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (ValueError, RecursionError):
            return "refused"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "_STEP", step)
        in_steps = outcome(lambda: large.LargeText(bytes(line), 10_000, 64).read())
    strict = outcome(lambda: json.loads(line.decode(), parse_int=large.to_int, parse_constant=int))
    assert in_steps == strict


async def test_a_million_values_are_read_beside_the_event_loop_and_in_their_order() -> None:
    """FRM-6, hard case 5: other work has its turns meanwhile, and what came behind comes behind."""
    told: list[Any] = []
    turns = 0

    class Ears:
        def event(self, event: Event) -> None:
            told.append(event["event_type"])

        def fault(self, error: BytebotError) -> None:
            told.append(error.code)

        def closed(self, reason: str) -> None: ...

    reader = LineReader(Ears())
    head = b'{"event_type":"many","x":['
    lines = [
        head + b"0," * 999_990 + b"0]}\n",
        b'{"event_type":"behind"}\n',
        head + b'{"n":"\\u00e9"},' * 20_000 + b"0]}\n",
        head + b'"a",' * 1_000_001 + b"0]}\n",
        head + b'"' + b"\\n" * 8_000_000 + b'"]}\n',
        b'{"event_type":"last"}\n',
    ]
    for line in lines:
        reader.push(line)
    settled = asyncio.ensure_future(reader.settled())
    while not settled.done():
        await asyncio.sleep(0)
        turns += 1
    assert told == ["many", "behind", "many", "too_large", "many", "last"]
    assert turns > 100
