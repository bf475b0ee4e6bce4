"""`bytebot check` passes for a satellite of each kind made with this SDK, over stdio and over HTTP, both ways."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

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
    assert re.search(r"(?m)^[1-9]\d* passed, 0 failed, 0 warned", report), report


@pytest.mark.parametrize("kind", KINDS)
async def test_bytebot_check_passes_over_stdio(kind: str) -> None:
    await check("--kind", kind, "--", sys.executable, str(HERE / f"satellites/{kind}.py"))


@pytest.mark.parametrize(("kind", "acks"), [("ui", "acks"), ("toolsource", ""), ("infer", "")])
async def test_bytebot_check_passes_where_it_serves_http(kind: str, acks: str) -> None:
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
        await check(url, "--kind", kind, **env)
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 10)
    await drained


@pytest.mark.parametrize("kind", ["ui", "context"])
async def test_bytebot_check_passes_where_it_dials_in(kind: str) -> None:
    await check("--listen", "--kind", kind, "--", sys.executable, str(HERE / f"satellites/{kind}.py"))
