"""What a satellite serves: tools, inference, renders; named as packages/bytebot/test/sdk names it."""

from __future__ import annotations

import asyncio
import enum
import threading
import time
from typing import Annotated, Any, Literal, TypedDict

import pytest
from peer import Peer, synced

import bytebot as bb
from bytebot.histories import Histories


def call_request(name: str, call_id: str, **input: Any) -> dict[str, Any]:
    request = {"event_type": "bb_tool_call_request", "call_id": call_id, "name": name, "input": input}
    return {**request, "scope": "u_1", "loop_id": "l_1"}


async def registered(peer: Peer) -> bb.Event:
    event = await peer.next("bb_tool_register")
    peer.send({"event_type": "bb_tool_register_result", "in_reply_to": event.id, "success": True, "tools": []})
    return event


async def test_a_tools_schema_comes_from_its_hints_and_its_docstring() -> None:
    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.tool(name="find-files", read_only=True, timeout_ms=500)
        async def find(
            pattern: str, kinds: list[Literal["file", "dir"]], limit: int = 10, root: str | None = None
        ) -> list[str]:
            """Finds files.

            Args:
                pattern: What their names
                    look like.
                limit: How many at most.
            """
            return [pattern] * limit

    async with synced("toolsource", setup) as (peer, _, _):
        assert (await registered(peer)).tools == [
            {
                "name": "find-files",
                "description": "Finds files.",
                "annotations": {"read_only": True},
                "timeout_ms": 500,
                "input_schema": {
                    "type": "object",
                    "properties": {
                        "pattern": {"type": "string", "description": "What their names look like."},
                        "kinds": {"type": "array", "items": {"enum": ["file", "dir"]}},
                        "limit": {"type": "integer", "description": "How many at most.", "default": 10},
                        "root": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    },
                    "required": ["pattern", "kinds"],
                    "additionalProperties": False,
                },
            }
        ]
        peer.send(call_request("find-files", "c_1", pattern="*.py", kinds=["dir"], limit=2))
        assert (await peer.next("bb_tool_call_result")).content == [{"type": "text", "text": '["*.py", "*.py"]'}]
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"kinds": []}, "input lacks pattern"),
            ({"pattern": 1, "kinds": []}, "input.pattern has to be a string"),
            ({"pattern": "", "kinds": ["link"]}, r"input.kinds\[0\] has to be one of"),
            ({"pattern": "", "kinds": [], "limit": True}, "input.limit has to be an integer"),
            ({"pattern": "", "kinds": [], "x": 1}, "input has no x"),
        ]
        for at, (given, words) in enumerate(wrong):
            peer.send(call_request("find-files", f"c_{at + 2}", **given))
            result = await peer.next("bb_tool_call_result")
            assert (result.success, result.error["code"], result.status) == (False, "invalid_params", "error")
            with pytest.raises(AssertionError, match=words):
                raise AssertionError(result.error["message"])


async def test_a_tool_asks_the_person_shows_progress_and_runs_in_the_scope_of_its_call_also_in_a_thread() -> None:
    scopes: list[str | None] = []

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.tool
        def write(path: str) -> str:
            scopes.append(bb.current_scope())
            ctrl.progress("asking", 0.5)
            answer = bb.wait(ctrl.ask(f"Write {path}?", options=["yes", "no"]))
            return str(answer.value)

    async with synced("toolsource", setup) as (peer, _, _):
        await registered(peer)
        peer.send(call_request("write", "c_1", path="a.txt"))
        progress = await peer.next("bb_tool_progress")
        assert (progress.call_id, progress.text, progress.fraction) == ("c_1", "asking", 0.5)
        asked = await peer.next("bb_input_request")
        assert (asked.call_id, asked.prompt, asked.options) == ("c_1", "Write a.txt?", ["yes", "no"])
        answer = {"event_type": "bb_input_result", "in_reply_to": asked.id, "success": True, "outcome": "accepted"}
        peer.send({**answer, "value": "yes"})
        assert (await peer.next("bb_tool_call_result")).content == [{"type": "text", "text": "yes"}]
    assert scopes == ["u_1"]


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


class Brush(TypedDict):
    colour: Colour
    width: int


async def test_a_tool_is_given_what_its_hints_say() -> None:
    seen: list[dict[str, Any]] = []

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.tool
        def paint(
            colour: Annotated[Colour, "of the wall"],
            count: int,
            others: list[Colour],
            named: dict[str, Colour | None],
            brush: Brush,
            one: Literal[Colour.RED, "none"],
            either: str | Colour,
            last: Colour = Colour.BLUE,
        ) -> None:
            told = {"colour": colour, "count": count, "others": others, "named": named}
            seen.append({**told, "brush": brush, "one": one, "either": either, "last": last})

    async with synced("toolsource", setup) as (peer, _, _):
        (tool,) = (await registered(peer)).tools
        properties = tool["input_schema"]["properties"]
        assert properties["one"] == {"enum": ["red", "none"]}
        assert properties["last"] == {"enum": ["red", 2], "default": 2}
        given: dict[str, Any] = {"colour": "red", "count": 3.0, "others": [2, "red"], "named": {"a": None, "b": 2}}
        given |= {"brush": {"colour": "red", "width": 1.0}, "one": "red", "either": "red"}
        peer.send(call_request("paint", "c_1", **given))
        assert (await peer.next("bb_tool_call_result")).status == "ok"
        peer.send(call_request("paint", "c_2", **{**given, "one": "none", "either": 2, "last": "red"}))
        assert (await peer.next("bb_tool_call_result")).status == "ok"
        peer.send(call_request("paint", "c_3", **{**given, "colour": "RED"}))
        assert "input.colour has to be one of ['red', 2]" in (await peer.next("bb_tool_call_result")).error["message"]
    red, blue = Colour.RED, Colour.BLUE
    read = {"colour": red, "count": 3, "others": [blue, red], "named": {"a": None, "b": blue}}
    read |= {"brush": {"colour": red, "width": 1}, "one": red, "either": "red", "last": blue}
    assert seen == [read, {**read, "one": "none", "either": blue, "last": red}]
    assert [type(each["count"]) for each in seen] == [int, int]


async def test_a_hint_that_json_has_no_place_for_is_refused_when_the_tool_is_added() -> None:
    class Odd(enum.Enum):
        PAIR = (1, 2)

    def odd(value: Odd) -> None: ...

    def raw(value: Literal[b"x"]) -> None: ...

    def setup(ctrl: bb.Satellite) -> None:
        for function in (odd, raw):
            function.__annotations__ = {"value": Odd if function is odd else Literal[b"x"]}
            with pytest.raises(
                bb.BytebotError, match=r"which JSON has no place for: take .* an Enum of texts and numbers"
            ):
                ctrl.tool(function)

    async with synced("toolsource", setup):
        pass


async def test_a_tools_parameters_may_have_any_name() -> None:
    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.tool
        def in_thread(handler: str, context: str, args: str, named: str, self: str) -> str:
            return handler + context + args + named + self

        @ctrl.tool
        async def on_loop(handler: str, context: str, args: str, named: str, self: str) -> str:
            return handler + context + args + named + self

    async with synced("toolsource", setup) as (peer, _, _):
        await registered(peer)
        for name in ("in_thread", "on_loop"):
            request = call_request("", "c_1")
            given = {"handler": "a", "context": "b", "args": "c", "named": "d", "self": "e"}
            peer.send({**request, "call_id": f"c_{name}", "name": name, "input": given})
            assert (await peer.next("bb_tool_call_result")).content == [{"type": "text", "text": "abcde"}]


async def test_a_cancelled_call_is_answered_as_cancelled_and_one_that_goes_on_is_given_up_its_effect_unknown() -> None:
    cleaned = asyncio.Event()
    release = threading.Event()

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.tool
        async def slow() -> None:
            ctrl.progress("on")
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.set()

        @ctrl.tool
        async def tidy() -> str:
            ctrl.progress("on")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "half of it is done"
            return "never"

        @ctrl.tool
        def stubborn() -> None:
            ctrl.progress("on")
            release.wait(10)

        @ctrl.tool
        def polite() -> str:
            ctrl.progress("on")
            while not bb.current_call().cancelled:
                time.sleep(0.001)
            return "stopped by itself"

    async with synced("toolsource", setup) as (peer, _, _):
        await registered(peer)
        names = ("slow", "tidy", "stubborn", "polite")
        for name in names:
            peer.send(call_request(name, name))
        for _ in names:
            await peer.next("bb_tool_progress")
        peer.send(*({"event_type": "bb_cancel", "target": name, "scope": "u_1", "reason": "Esc"} for name in names))
        results = {each.call_id: each for each in [await peer.next("bb_tool_call_result") for _ in names]}
        release.set()
        assert results["slow"].error["code"] == "cancelled"
        assert results["slow"].error["message"] == "cancelled: Esc"
        assert cleaned.is_set()
        assert results["tidy"].content == [{"type": "text", "text": "half of it is done"}]
        assert results["polite"].content == [{"type": "text", "text": "stopped by itself"}]
        assert "did not end within 500 ms, so whether it took effect is unknown" in results["stubborn"].error["message"]


async def test_a_tool_that_fails_says_so_to_the_model_and_one_that_is_not_there_says_how_to_add_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.tool
        async def fails() -> None:
            raise bb.BytebotError("not_found", "There is no such folder.")

        @ctrl.tool
        async def breaks() -> None:
            raise ValueError("oh no")

        @ctrl.tool
        async def returns() -> object:
            return object()

    async with synced("toolsource", setup) as (peer, ctrl, _):
        await registered(peer)
        for name, wrong, words in [
            ("fails", "not_found", "There is no such folder."),
            ("breaks", "internal", "oh no"),
            ("returns", "internal", "what the tool returned cannot be JSON"),
            ("gone", "unavailable", 'add the tool "gone" with @ctrl.tool'),
        ]:
            peer.send(call_request(name, name))
            result = await peer.next("bb_tool_call_result")
            assert (result.call_id, result.success, result.error["code"]) == (name, False, wrong)
            assert words in result.error["message"]
        with pytest.raises(bb.BytebotError, match='there is a tool "fails" already: give this one another name'):
            ctrl.tool(name="fails")(lambda: None)
        with pytest.raises(bb.BytebotError, match="which JSON has no place for"):

            @ctrl.tool
            async def odd(when: threading.Event) -> None: ...

        with pytest.raises(bb.BytebotError, match=r'on_render\(\) is for kind "context", and this satellite synced as'):
            ctrl.on_render(lambda request: {})
    assert "ValueError: oh no" in capsys.readouterr().err


async def test_a_result_too_large_for_its_line_is_cut_at_a_character_and_says_so() -> None:
    """TOL-10."""

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.tool
        async def much() -> str:
            return "😀" * 600_000

    async with synced("toolsource", setup) as (peer, _, _):
        await registered(peer)
        peer.send(call_request("much", "c_1"))
        shown, note = (await peer.next("bb_tool_call_result")).content
        assert set(shown["text"]) == {"😀"}
        assert note["text"] == (
            "[cut: 2400000 bytes in all, limit 131072; "
            "the whole is not kept: this Hub takes no blobs: keep content below 256 KiB]"
        )


def infer_request(request_id: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    request = {"event_type": "bb_infer_request", "id": request_id, "loop_id": "l_1", "scope": "u_1", "stream": True}
    return {**request, "round": 0, "attempt": 0, "messages": messages}


async def test_an_infer_streams_blocks_and_ends_with_its_result() -> None:
    """CHK-1, TRN-4."""

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.on_infer
        def infer(request: bb.Event, reply: bb.InferReply) -> dict[str, Any]:
            reply.thinking("hm")
            reply.signature("sig==")
            # A thought after it is a block of its own.
            reply.thinking("well")
            reply.signature("sig2==")
            reply.text("a\ud83d")
            reply.text("\ude00")
            call = reply.tool_use("write", id="toolu_1")
            call.delta('{"path":')
            call.delta('"a.txt"}')
            broken = reply.tool_use("broken")
            broken.delta("{")
            # What the provider wants to see again with its call comes back with it.
            call.end({"thought_signature": "s3==", "name": "not this"})
            return {"stop_reason": "tool_use", "usage": {"input_tokens": 1}}

    async with synced("infer", setup) as (peer, _, _):
        peer.send(infer_request("i_1"))
        result = await peer.next("bb_infer_result")
    assert result == {
        "event_type": "bb_infer_result",
        "in_reply_to": "i_1",
        "loop_id": "l_1",
        "success": True,
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1},
    }
    chunks = [each for each in peer.sent if each.event_type == "infer_chunk"]
    assert {each.in_reply_to for each in chunks} == {"i_1"}
    assert [(each["index"], each.kind, each.get("delta") or each.get("block")) for each in chunks] == [
        (0, "block_start", None),
        (0, "block_delta", "hm"),
        (0, "block_stop", {"type": "thinking", "thinking": "hm", "signature": "sig=="}),
        (1, "block_start", None),
        (1, "block_delta", "well"),
        (1, "block_stop", {"type": "thinking", "thinking": "well", "signature": "sig2=="}),
        (2, "block_start", None),
        (2, "block_delta", "a"),
        (2, "block_delta", "😀"),
        (2, "block_stop", {"type": "text", "text": "a😀"}),
        (3, "block_start", None),
        (3, "block_delta", '{"path":'),
        (3, "block_delta", '"a.txt"}'),
        (4, "block_start", None),
        (4, "block_delta", "{"),
        (
            3,
            "block_stop",
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "write",
                "thought_signature": "s3==",
                "input": {"path": "a.txt"},
            },
        ),
        (4, "block_stop", {"type": "tool_use", "name": "broken", "input": None, "malformed": "{"}),
    ]


async def test_after_a_cancel_nothing_of_the_reply_is_sent() -> None:
    """INT-3."""
    held: list[bb.InferReply] = []

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.on_infer
        async def infer(request: bb.Event, reply: bb.InferReply) -> dict[str, Any]:
            held.append(reply)
            reply.text("once")
            await asyncio.Event().wait()
            return {"stop_reason": "end_turn"}

    async with synced("infer", setup) as (peer, _, _):
        peer.send(infer_request("i_1"))
        await peer.next("infer_chunk")
        peer.send({"event_type": "bb_cancel", "target": "i_1", "scope": "u_1", "reason": "Esc"})
        result = await peer.next("bb_infer_result")
        assert (result.success, result.error["code"]) == (False, "cancelled")
        before = len(peer.sent)
        held[0].text("more")
        assert len(peer.sent) == before


async def test_a_render_is_answered_with_what_its_handler_returned_and_a_context_without_one_says_so() -> None:
    request = {"event_type": "bb_context_render_request", "id": "r_1", "scope": "u_1", "loop_id": "l_1", "round": 0}
    request |= {"tools": [], "history": [], "history_whole": True}

    def setup(ctrl: bb.Satellite) -> None:
        ctrl.on_render(lambda request: {"system": request.scope})

    async with synced("context", setup) as (peer, _, _):
        peer.send(request)
        result = await peer.next("bb_context_render_result")
        assert (result.in_reply_to, result.success, result.system) == ("r_1", True, "u_1")
    async with synced("context") as (peer, _, _):
        peer.send(request)
        result = await peer.next("bb_context_render_result")
        assert (result.success, result.error["code"]) == (False, "unavailable")
        assert result.error["message"].endswith("does not serve bb_context_render_request: register @ctrl.on_render")


def render_request(id: str, scope: str, history: list[tuple[str, str]], whole: bool) -> dict[str, Any]:
    messages = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in history]
    request = {"event_type": "bb_context_render_request", "id": id, "scope": scope, "loop_id": "l_1", "round": 0}
    return {**request, "tools": [], "history": messages, "history_whole": whole}


async def test_a_context_that_takes_increments_is_handed_the_whole_history() -> None:
    """HIS-1, HIS-2, HIS-3."""
    seen: list[list[dict[str, Any]]] = []

    def setup(ctrl: bb.Satellite) -> None:
        @ctrl.on_render
        def render(request: bb.Event) -> None:
            assert request.history_whole is True
            seen.append([*request.history])
            # What a handler does to it is its own affair.
            request.history.clear()

    async with synced("context", setup, capabilities={"history": {"incremental": {}}}) as (peer, _, _):

        async def rendered(*args: Any) -> bb.Event:
            peer.send(render_request(*args))
            return await peer.next("bb_context_render_result")

        assert (await rendered("r_1", "u_1", [("user", "a")], True)).success
        assert (await rendered("r_2", "u_1", [("assistant", "b")], False)).success
        assert (await rendered("r_3", "u_1", [("assistant", "c"), ("user", "d")], False)).success
        assert [(each["role"], [block["text"] for block in each["content"]]) for each in seen[-1]] == [
            ("user", ["a"]),
            ("assistant", ["b", "c"]),
            ("user", ["d"]),
        ]
        refused = await rendered("r_4", "u_2", [("user", "x")], False)
        assert (refused.success, refused.error["code"]) == (False, "cursor_expired")
        assert (await rendered("r_5", "u_1", [("user", "anew")], True)).success
        assert [each["content"][0]["text"] for each in seen[-1]] == ["anew"]


def test_of_the_histories_the_least_recently_rendered_goes_first_when_they_are_too_many() -> None:
    """HIS-3."""
    kept = Histories(max_size=250)
    for scope in ("a", "b"):
        kept.whole(render_request("r", scope, [("user", "x" * 40)], True))
    assert kept.whole(render_request("r", "a", [], False))
    kept.whole(render_request("r", "c", [("user", "x" * 60)], True))
    assert kept.whole(render_request("r", "b", [], False)) is None
    assert kept.whole(render_request("r", "a", [], False))
