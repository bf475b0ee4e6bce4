"""A satellite's program over stdio: real processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from peer import ack

HEAD = "import asyncio, os, sys\nimport bytebot as bb\n"


class Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, *events: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(json.dumps(event).encode() + b"\n" for event in events))

    async def next(self) -> dict[str, Any]:
        """Every line of stdout is an event."""
        assert self.process.stdout
        async with asyncio.timeout(20):
            line = await self.process.stdout.readline()
        event: dict[str, Any] = json.loads(line)
        return event

    async def end(self) -> tuple[int, str]:
        assert self.process.stdin
        self.process.stdin.close()
        return await self.ended()

    async def ended(self) -> tuple[int, str]:
        assert self.process.stdout
        assert self.process.stderr
        async with asyncio.timeout(20):
            said = (await self.process.stderr.read()).decode()
            assert await self.process.wait() is not None
        return self.process.returncode or 0, said


@asynccontextmanager
async def child(folder: Path, source: str, **env: str) -> AsyncIterator[Child]:
    (folder / "main.py").write_text(HEAD + source)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(folder / "main.py"), stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **env}
    )
    try:
        yield Child(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


PRINTS = """
async def main(opts):
    print("before", opts["word"])
    ctrl = await bb.sync(kind="ui")
    sys.stdout.write("noise without an end")
    os.write(1, b"\\nfrom below\\n")
    os.system("echo from a child")

    @ctrl.on("scope_state")
    def state(event):
        print("in a handler", event.state)
        ctrl.send({"event_type": "com.example/heard", "scope": event.scope, "line": sys.stdin.readline()})

    await ctrl.start()

bb.run(main)
"""


async def test_prints_of_any_kind_go_to_stderr_and_stdout_carries_events_alone(tmp_path: Path) -> None:
    """FRM-11, CON-8."""
    async with child(tmp_path, PRINTS, BYTEBOT_OPTS='{"word":"hello"}') as it:
        assert (await it.next())["event_type"] == "bb_sync"
        it.send(ack("ui"), {"event_type": "scope_state", "scope": "u_1", "state": "idle"})
        # What is read as stdin gets none of the events.
        assert await it.next() == {"event_type": "com.example/heard", "scope": "u_1", "line": ""}
        code, said = await it.end()
    assert code == 0
    for line in ("before hello", "noise without an end", "from below", "from a child", "in a handler idle"):
        assert line in said


async def test_events_larger_than_any_buffer_cross_whole_both_ways(tmp_path: Path) -> None:
    source = """
async def main():
    ctrl = await bb.sync(kind="telemetry")

    @ctrl.on("com.example/large")
    async def back(event):
        for _ in range(20):
            ctrl.send({"event_type": "com.example/large", "scope": "u_1", "text": event.text})
            await ctrl.drained()

    await ctrl.start()

bb.run(main)
"""
    async with child(tmp_path, source) as it:
        await it.next()
        text = "€😀\u2028" * 60_000
        it.process.stdout._limit = 2**22  # type: ignore[union-attr]
        it.send(ack("telemetry"), {"event_type": "com.example/large", "scope": "u_1", "text": text})
        for _ in range(20):
            assert (await it.next())["text"] == text
        assert (await it.end())[0] == 0


async def test_a_main_that_throws_says_so_in_one_sentence_and_exits_with_1(tmp_path: Path) -> None:
    async with child(tmp_path, "async def main():\n    raise ValueError('no\\nkey')\n\nbb.run(main)\n") as it:
        code, said = await it.ended()
    assert code == 1
    assert said.startswith("bytebot: the satellite failed: ValueError: no key at ")
    assert said.count("\n") == 1
    async with child(tmp_path, "async def main(opts): ...\n\nbb.run(main)\n", BYTEBOT_OPTS='["secret"]') as it:
        code, said = await it.ended()
    fix = 'set it to one, such as {"model":"m"}, or leave it unset'
    assert (code, said) == (1, f"bytebot: BYTEBOT_OPTS is no JSON object: {fix}\n")


async def test_a_refusal_of_the_hubs_is_the_sentence_and_sigterm_ends_it_in_order(tmp_path: Path) -> None:
    source = 'async def main():\n    ctrl = await bb.sync(kind="ui")\n    await ctrl.start()\n\nbb.run(main)\n'
    async with child(tmp_path, source) as it:
        await it.next()
        it.send({"event_type": "bb_error", "code": "forbidden", "message": "attached as infer", "retryable": False})
        assert await it.ended() == (1, "bytebot: attached as infer\n")
    async with child(tmp_path, source) as it:
        await it.next()
        it.send(ack("ui"), {"event_type": "bb_ping", "id": "p_1"})
        assert (await it.next())["event_type"] == "bb_pong"
        it.process.terminate()
        assert (await it.next())["event_type"] == "bb_bye"
        assert await it.ended() == (0, "")


async def test_a_satellite_exits_when_its_stdin_ends_also_where_a_handler_hangs(tmp_path: Path) -> None:
    source = """
import time

async def main():
    ctrl = await bb.sync(kind="toolsource")

    @ctrl.tool
    def hang() -> None:
        ctrl.progress("hanging")
        time.sleep(60)

    await ctrl.start()

bb.run(main)
"""
    async with child(tmp_path, source) as it:
        await it.next()
        it.send(ack("toolsource"))
        registered = await it.next()
        it.send({"event_type": "bb_tool_register_result", "in_reply_to": registered["id"], "success": True})
        call = {"event_type": "bb_tool_call_request", "call_id": "c_1", "name": "hang", "input": {}, "scope": "u_1"}
        it.send(call)
        assert (await it.next())["event_type"] == "bb_tool_progress"
        assert (await it.end())[0] == 0
