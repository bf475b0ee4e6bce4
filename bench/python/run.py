"""One run of one contender: `python run.py tool-ours|tool-mcp|tool-floor|chunks-ours|chunks-floor`."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from work import CHUNKS, DELTA, TURNS, Turns, calls, report

HERE = Path(__file__).parent


async def tool_ours() -> dict[str, float]:
    """App → Hub → toolsource and back, each a process of its own; each lane is a tenant."""
    import bytebot as bb

    async with bb.ByteBot(base=HERE) as hub:
        attached = hub.attach("./tools")
        assert attached
        await attached

        async def call(lane: int, text: str) -> str:
            result = await hub.call_tool(f"t_{lane}", "echo", {"text": text})
            return str(result.content[0]["text"])

        return await calls(call)


async def tool_mcp() -> dict[str, float]:
    """Client → server and back."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=sys.executable, args=[str(HERE / "mcp_server.py")])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(_: int, text: str) -> str:
            return str((await session.call_tool("echo", {"text": text})).content[0].text)

        return await calls(call)


async def tool_floor() -> dict[str, float]:
    """Lines of JSON to a child and back."""
    echo = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()"
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", echo, stdin=pipe, stdout=pipe)
    assert child.stdin
    assert child.stdout
    source, sink = child.stdout, child.stdin
    waiting: dict[int, asyncio.Future[str]] = {}

    async def read() -> None:
        while line := await source.readline():
            event = json.loads(line)
            waiting.pop(event["id"]).set_result(event["text"])

    reading = asyncio.create_task(read())
    count = 0

    async def call(_: int, text: str) -> str:
        nonlocal count
        count += 1
        answer = waiting[count] = asyncio.get_running_loop().create_future()
        sink.write(json.dumps({"id": count, "text": text}).encode() + b"\n")
        return await answer

    figure = await calls(call)
    sink.close()
    await reading
    await child.wait()
    return figure


async def chunks_ours() -> dict[str, float]:
    """A child's infer → Hub → the handler of a UI in Python."""
    import bytebot as bb

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figure.json"
        hub = bb.ByteBot(base=HERE)
        hub.attach_infer("../children/infer", primary=True)
        async with hub:
            hub.attach({"ref": "./ui", "opts": {"figure": str(file)}})
            while not file.exists():
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.1)
            figure: dict[str, float] = json.loads(file.read_text())
            return figure


async def chunks_floor() -> dict[str, float]:
    """Lines of JSON from a child, parsed."""
    event = {"event_type": "infer_chunk", "kind": "block_delta", "scope": "u_7f3a/c_2", "loop_id": "l_90b41c77"}
    event |= {"round": 0, "attempt": 0, "n": 0, "index": 0, "block_type": "text", "delta": DELTA, "ts": 1764000000000}
    source = (
        f"import json, sys\nevent = {event!r}\nfor line in sys.stdin:\n    for n in range({CHUNKS}):\n"
        "        event['n'] = n\n        sys.stdout.write(json.dumps(event) + '\\n')\n    sys.stdout.flush()"
    )
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", source, stdin=pipe, stdout=pipe)
    assert child.stdin
    assert child.stdout
    turns = Turns()
    for number in range(TURNS + 1):
        child.stdin.write(b"go\n")
        while not turns.chunk(json.loads(await child.stdout.readline())["delta"]):
            pass
        turns.ended(number > 0)
    child.stdin.close()
    await child.wait()
    return turns.figure()


if __name__ == "__main__":
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    work = {
        each.__name__.replace("_", "-"): each for each in (tool_ours, tool_mcp, tool_floor, chunks_ours, chunks_floor)
    }
    report(asyncio.run(work[sys.argv[1]]()))
