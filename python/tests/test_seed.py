"""The seed's two programs, as they stand but for what Python itself demands: the difference is shown, and they run."""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TOKEN = "a-secret-of-the-test"

#: What stands in the seed, and what Python demands in its place.
SATELLITE = {
    "import bytebot as bb\n": (
        "import asyncio\nimport os\n\nimport bytebot as bb\nfrom bytebot import scoped\n"
        "from helpers import ask_the_human, browser, html_for\n"
    ),
    "async def bb_main():\n": "async def bb_main():\n    global ctrl\n",
    "await bb.serve_http(": "async def main():\n    browser.open(on_send)\n    await bb.serve_http(",
    "port=8081, send_acks=True)\n": 'port=int(os.environ["SITE_PORT"]), send_acks=True)\n\nasyncio.run(main())\n',
}
HUB = {
    "from bytebot": "import asyncio\nimport json\nimport os\nimport sys\n\nfrom bytebot",
    '"http://site:8081"': "f\"http://127.0.0.1:{os.environ['SITE_PORT']}\"",
    "{...}": 'json.loads(os.environ["INFER_OPTS"])',
    "await hub.start()\n": (
        "async def main():\n    await hub.start()\n    print(json.dumps(await hub.components()), flush=True)\n"
        "    await asyncio.to_thread(sys.stdin.read)\n    await hub.stop()\n\nasyncio.run(main())\n"
    ),
}

#: The values of the seed's that are those of the test.
VALUES = {
    "port=8081": 'port=int(os.environ["SITE_PORT"])',
    '"http://site:8081"': HUB['"http://site:8081"'],
    "{...}": HUB["{...}"],
}


def adapted(name: str, changes: dict[str, str]) -> str:
    seed = (HERE / "seed" / f"{name}.txt").read_text()
    program = seed
    for old, new in changes.items():
        assert program.count(old) == 1, old
        program = program.replace(old, new)
    shown = list(
        difflib.unified_diff(seed.split("\n"), program.split("\n"), f"the seed's {name}", f"{name}.py", lineterm="")
    )
    print("\n".join(shown))
    # No line of the seed's is lost, and none is moved: but for these values and its indentation each stands as it did.
    lines = iter([line.strip() for line in program.split("\n")])
    for line in seed.split("\n"):
        written = line.strip()
        for value, other in VALUES.items():
            written = written.replace(value, other)
        assert written in lines, line
    return program


@asynccontextmanager
async def program(path: Path, **env: str) -> AsyncIterator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    environ = {**os.environ, "PYTHONPATH": str(HERE / "seed"), **env}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(path), cwd=path.parent, env=environ, stdin=pipe, stdout=pipe, limit=2**20
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 10)


async def line_of(process: asyncio.subprocess.Process) -> Any:
    assert process.stdout
    async with asyncio.timeout(30):
        return json.loads(await process.stdout.readline())


def say(process: asyncio.subprocess.Process, user_id: str, text: str) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"user_id": user_id, "text": text}).encode() + b"\n")


async def until_done(process: asyncio.subprocess.Process, *scopes: str) -> dict[str, str]:
    """What the tabs of these scopes show when all of their turns have ended."""
    tabs = dict.fromkeys(scopes, "")
    while not all("<hr" in shown for shown in tabs.values()):
        line = await line_of(process)
        # A handler runs in the scope of its event.
        assert line["current"] == line["scope"]
        tabs[line["scope"]] += line["html"]
    return tabs


@asynccontextmanager
async def model() -> AsyncIterator[str]:
    """An OpenAI-compatible server: it has words counted, and says how many there were."""

    async def complete(request: web.Request) -> web.StreamResponse:
        last = (await request.json())["messages"][-1]
        call = {
            "index": 0,
            "id": "call_1",
            "function": {"name": "count_words", "arguments": '{"text":"one two three"}'},
        }
        if last["role"] == "tool":
            deltas: list[dict[str, Any]] = [{"content": "There are "}, {"content": f"{last['content']} <words>."}]
        else:
            deltas = [{"role": "assistant", "tool_calls": [{**call, "type": "function"}]}]
        reason = "stop" if last["role"] == "tool" else "tool_calls"
        choices = [*({"index": 0, "delta": delta} for delta in deltas)]
        choices.append({"index": 0, "delta": {}, "finish_reason": reason})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for choice in choices:
            await response.write(b"data: " + json.dumps({"id": "x", "choices": [choice]}).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def component(folder: Path, kind: str, source: str) -> None:
    folder.mkdir()
    (folder / "main.py").write_text(source)
    entry = {"type": "stdio", "command": [sys.executable, "main.py"]}
    manifest = {"schema_version": 1, "kind": kind, "language": "python", "entry": entry}
    (folder / "bytebot.component.json").write_text(json.dumps(manifest))


INGEST = '''
import bytebot as bb

async def main():
    ctrl = await bb.sync(kind="toolsource")

    @ctrl.tool
    def count_words(text: str) -> int:
        """Counts words."""
        print("counting")
        return len(text.split())

    await ctrl.start()

bb.run(main)
'''


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


async def test_both_programs_of_the_seed_run_as_they_stand_but_for_what_python_demands(tmp_path: Path) -> None:
    (tmp_path / "satellite.py").write_text(adapted("satellite", SATELLITE))
    (tmp_path / "hub.py").write_text(adapted("hub", HUB))
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    component(tmp_path / "context", "context", (HERE / "satellites/context.py").read_text())
    component(tmp_path / "ingest", "toolsource", INGEST)
    env = {"BYTEBOT_TOKEN": TOKEN, "SITE_PORT": free_port()}
    async with model() as url, program(tmp_path / "satellite.py", **env) as site:
        opts = {"INFER_OPTS": json.dumps({"base_url": url, "model": "scripted"})}
        async with program(tmp_path / "hub.py", **env, **opts) as hub:
            attached = await line_of(hub)
            assert [(each["kind"], each["primary"], each["controller"]) for each in attached] == [
                ("context", True, True),
                ("infer", True, False),
                ("toolsource", True, False),
                ("ui", True, False),
            ]
            say(site, "auth0|7", "how many words?")
            say(site, "kim", "how many words?")
            shown = (
                '<section class=tool_use>{"text":"one two three"}</section>'
                "<section class=text>There are 3 &lt;words&gt;.</section><hr title=end_turn>"
            )
            # Each tab sees its scope, and a user id is no path.
            assert await until_done(site, "auth0%7C7", "kim") == {"auth0%7C7": shown, "kim": shown}
            assert hub.stdin
            hub.stdin.close()
            assert await asyncio.wait_for(hub.wait(), 20) == 0
