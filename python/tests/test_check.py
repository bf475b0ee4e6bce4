"""`bytebot check` passes for a satellite of each kind made with this SDK, over stdio and over HTTP, both ways."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable
from pathlib import Path

HERE = Path(__file__).parent
CHECK = ["node", str(HERE.parents[1] / "packages/bytebot/bin/bytebot.js"), "check"]
KINDS = ["ui", "context", "infer", "toolsource", "telemetry"]
DEADLINE_S = 80


async def check(*args: str, **env: str) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *CHECK, *args, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env={**os.environ, **env}
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), DEADLINE_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    report = out.decode()
    assert process.returncode == 0, re.sub(r"(?m)^ok .*\n", "", report)
    assert re.search(r"(?m)^[1-9]\d* passed, 0 failed", report), report


def only(*rules: str) -> list[str]:
    return [each for rule in rules for each in ("--rule", rule)]


async def over_stdio(kind: str) -> None:
    await check("--kind", kind, "--", sys.executable, str(HERE / f"satellites/{kind}.py"))


async def serving(kind: str, acks: str, rules: list[str]) -> None:
    env = {"BYTEBOT_TOKEN": "a-secret-of-the-test"}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "satellites/serve.py"),
        kind,
        *([acks] if acks else []),
        env={**os.environ, **env},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr
    try:
        url = (await asyncio.wait_for(process.stderr.readline(), 20)).decode().split()[-1]
        drained = asyncio.create_task(process.stderr.read())
        await check(url, "--kind", kind, *rules, **env)
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 10)
    await drained


# The others of dialling in are of waits: half a minute of silence, ten seconds without a Hub.
SOON = ["CON-2", "CON-6", "ERR-1", "HTP-2", "HTP-3", "HTP-4", "HTP-5", "HTP-7", "HTP-8", "HTP-10", "HTP-11"]
#: What a kind does is the same whatever carries it: over stdio all of it is looked at, elsewhere that it does it.
WORK = {
    "ui": ["CHK-3", "INP-1", "QUE-4", "TRN-6"],
    "context": ["ENV-4", "SCP-9", "TRN-2"],
    "infer": ["CHK-1", "SCP-9", "TRN-4"],
    "toolsource": ["TOL-1", "TOL-5", "TOL-9"],
    "telemetry": ["KND-4"],
}


async def dialling_in(kind: str, rules: list[str]) -> None:
    await check("--listen", "--kind", kind, *rules, "--", sys.executable, str(HERE / f"satellites/{kind}.py"))


async def test_bytebot_check_passes_for_every_kind_over_stdio_where_it_serves_http_and_where_it_dials_in() -> None:
    runs = {f"{kind}, over stdio": over_stdio(kind) for kind in KINDS}
    runs |= {"ui, serving": serving("ui", "acks", []), "toolsource, serving": serving("toolsource", "", [])}
    runs |= {f"{kind}, dialling in": dialling_in(kind, only(*SOON)) for kind in ("ui", "context")}
    for kind in ("context", "infer", "telemetry"):
        rules = only("CON-2", "HTP-1", "HTP-4", "HTP-7", *WORK[kind])
        runs[f"{kind}, serving"] = serving(kind, "acks" if kind == "infer" else "", rules)
    for kind in ("infer", "toolsource", "telemetry"):
        runs[f"{kind}, dialling in"] = dialling_in(kind, only("CON-2", "HTP-2", "HTP-4", "HTP-7", *WORK[kind]))
    # They mostly wait; more at once would make the machine late for what they time.
    room = asyncio.Semaphore(3)

    async def in_turn(run: Awaitable[None]) -> None:
        async with room:
            await run

    outcomes = await asyncio.gather(*map(in_turn, runs.values()), return_exceptions=True)
    failed = [f"{name}: {error}" for name, error in zip(runs, outcomes, strict=True) if error is not None]
    assert not failed, "\n\n".join(failed)
