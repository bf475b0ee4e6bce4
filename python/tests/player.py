"""Plays the Hub to a satellite, by the lines of a transcript; the satellite does through the SDK what its lines say."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from peer import Peer

import bytebot as bb
from bytebot.ambient import Run, run_main

DEADLINE_S = 10.0
Line = dict[str, Any]
#: What of a line is the wire's, and not the handler's to say.
ENVELOPE = {"event_type", "from", "in_reply_to", "success", "error", "loop_id", "api_shape"}
SYNC = {"event_type", "from", "language", "protocol_version"}


class Satellite:
    """The `main` of one role: each request of the Hub's is served by the lines that stand under its id."""

    def __init__(self, lines: Iterable[Line]) -> None:
        own = [line for line in lines if "to" not in line]
        self._sync = {key: value for key, value in own[0].items() if key not in SYNC}
        self._tools: list[Line] = next((each["tools"] for each in own if each["event_type"] == "bb_tool_register"), [])
        self._lines: dict[str, asyncio.Queue[Line]] = defaultdict(asyncio.Queue)
        self._doing: set[asyncio.Task[Any]] = set()
        self._leave = asyncio.Event()
        self._ctrl: bb.Satellite | None = None

    async def main(self) -> None:
        ctrl = self._ctrl = await bb.sync(**self._sync)
        if ctrl.granted.kind == "context":
            ctrl.on_render(self._render)
        if ctrl.granted.kind == "infer":
            ctrl.on_infer(self._infer)
        for tool in self._tools:
            more = {key: tool[key] for key in ("description", "timeout_ms") if key in tool}
            ctrl.tool(name=tool["name"], input_schema=tool["input_schema"], **tool.get("annotations", {}), **more)(
                self._call
            )
        started = asyncio.ensure_future(ctrl.start())
        left = asyncio.ensure_future(self._leave.wait())
        await asyncio.wait([started, left], return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        left.cancel()

    def says(self, line: Line, own_id: str | None) -> None:
        """Has it say this line: here, or in whatever serves the request that it answers."""
        ctrl = self._ctrl
        assert ctrl
        key = line.get("call_id") or (line.get("in_reply_to") if line["event_type"] != "input_reply" else None)
        if key is None and line["event_type"] == "bb_blob" and ctrl.granted.kind == "infer":
            key = self._serving
        if key is not None:
            self._lines[key].put_nowait(line)
            return
        scope = line.get("scope")
        match line["event_type"]:
            case "bb_sync" | "bb_tool_register":
                return
            case "bb_bye" if line["reason"] == "its main returned":
                self._leave.set()
                return
            case "bb_bye":
                work: Any = ctrl.close(line["reason"])
            case "user_event":
                content = line["text"] if "text" in line else line["content"]
                work = ctrl.send_user_event(scope, content, id=own_id, mode=line.get("mode"))
            case "interrupt":
                work = ctrl.interrupt(scope, line.get("reason"))
            case "input_reply":
                work = ctrl.answer({"id": line["in_reply_to"], "scope": scope}, line["outcome"], line.get("value"))
            case "bb_blob":
                work = self._blob(line)
            case kind:
                event = {key: value for key, value in line.items() if key not in ("from", "id")}
                if not kind.startswith("bb_"):
                    ctrl.send(event)
                    return
                work = ctrl.request(event)
        self._doing.add(asyncio.ensure_future(work))

    async def ended(self) -> None:
        self._leave.set()
        for task in self._doing:
            task.cancel()
        await asyncio.gather(*self._doing, return_exceptions=True)

    async def _next(self, key: str) -> Line:
        try:
            return await self._lines[key].get()
        except asyncio.CancelledError:
            # It was told to stop: what it says then stands in the transcript too.
            return await self._lines[key].get()

    async def _render(self, request: bb.Event) -> Line:
        line = await self._next(request.id)
        _raise(line)
        return {key: value for key, value in line.items() if key not in ENVELOPE}

    async def _infer(self, request: bb.Event, reply: bb.InferReply) -> Line:
        self._serving = request.id
        calls: dict[int, bb.ToolUseReply] = {}
        kinds: dict[int, str] = {}
        while (line := await self._next(request.id))["event_type"] != "bb_infer_result":
            if line["event_type"] == "bb_blob":
                await self._blob(line)
                continue
            at = line["index"]
            match line["kind"]:
                case "block_start":
                    kinds[at] = line["block_type"]
                    if line["block_type"] == "tool_use":
                        calls[at] = reply.tool_use(line["name"])
                case "block_delta" if at in calls:
                    calls[at].delta(line["delta"])
                case "block_delta":
                    (reply.text if kinds[at] == "text" else reply.thinking)(line["delta"])
                case "block_stop" if at in calls:
                    calls[at].end()
                case "block_stop" if "signature" in line["block"]:
                    reply.signature(line["block"]["signature"])
                case "block_stop" if at not in kinds:
                    reply.block(line["block"])
        _raise(line)
        return {key: line[key] for key in ("stop_reason", "usage") if key in line}

    async def _call(self, **_: Any) -> Any:
        ctrl, call_id = self._ctrl, bb.current_call().call_id
        assert ctrl
        while (line := await self._next(call_id))["event_type"] != "bb_tool_call_result":
            match line["event_type"]:
                case "bb_tool_progress":
                    ctrl.progress(line["text"], line.get("fraction"))
                case "bb_input_request":
                    await ctrl.ask(line["prompt"], options=line.get("options"), schema=line.get("schema"))
                case _:
                    await ctrl.request({key: value for key, value in line.items() if key not in ("from", "id")})
        _raise(line)
        return line["content"]

    async def _blob(self, line: Line) -> None:
        assert self._ctrl
        if "data" in line:
            await self._ctrl.put_blob(line["scope"], base64.b64decode(line["data"]), mime_type=line["mime_type"])
        else:
            await self._ctrl.get_blob(line["scope"], line["ref"])


class Player:
    def __init__(self, role: str, lines: Iterable[Line]) -> None:
        self._lines = [line for line in lines if line.get("to", line.get("from")) == role]
        self._peer = Peer()
        self._taken: set[int] = set()
        #: Its own ids, and what the transcript calls them.
        self._names: dict[str, str] = {}

    async def play(self) -> None:
        satellite = Satellite(self._lines)
        running = asyncio.ensure_future(run_main(satellite.main, Run(self._peer.connect)))
        try:
            at = 0
            while at < len(self._lines):
                if "to" in self._lines[at]:
                    self._deliver(self._lines[at])
                    at += 1
                    # What it starts has begun before the next line comes.
                    for _ in range(5):
                        await asyncio.sleep(0)
                    continue
                run = at
                while at < len(self._lines) and "to" not in self._lines[at]:
                    if self._lines[at]["event_type"] != "bb_sync":
                        own = {called: own for own, called in self._names.items()}.get(self._lines[at].get("id", ""))
                        satellite.says(self._lines[at], own)
                    at += 1
                for line in self._lines[run:at]:
                    await self._compare(line)
            left = [each for n, each in enumerate(self._peer.sent) if n not in self._taken]
            assert left == []
        finally:
            await satellite.ended()
            await asyncio.wait_for(running, DEADLINE_S)

    def _deliver(self, line: Line) -> None:
        event = {key: value for key, value in line.items() if key != "to"}
        self._peer.send(_renamed(event, {called: own for own, called in self._names.items()}))

    async def _compare(self, line: Line) -> None:
        wanted = {key: value for key, value in line.items() if key not in ("from", "language")}
        until = asyncio.get_running_loop().time() + DEADLINE_S
        while True:
            for n, each in enumerate(self._peer.sent):
                sent = _renamed({**each}, self._names)
                same = all(sent.get(key) == wanted.get(key) for key in ("event_type", "in_reply_to", "call_id"))
                if n not in self._taken and same:
                    self._taken.add(n)
                    if "id" in each and "id" in wanted:
                        self._names[each["id"]] = wanted["id"]
                    shown = _renamed({key: value for key, value in each.items() if key != "language"}, self._names)
                    assert shown == wanted
                    return
            assert asyncio.get_running_loop().time() < until, f"it did not send {wanted}, but {self._peer.sent[-3:]}"
            await asyncio.sleep(0.001)


def _raise(line: Line) -> None:
    if line["success"] is False:
        raise bb.BytebotError(line["error"]["code"], line["error"]["message"], retryable=line["error"]["retryable"])


def _renamed(event: Line, names: dict[str, str]) -> Line:
    def rename(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: rename(item) for key, item in value.items()}
        if isinstance(value, list):
            return [rename(item) for item in value]
        return names.get(value, value) if isinstance(value, str) else value

    renamed: Line = rename(json.loads(json.dumps(event)))
    return renamed
