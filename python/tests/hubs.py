"""Real Hubs for the tests: the `bytebot` program of this checkout."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAM = str(ROOT / "packages/bytebot/bin/bytebot.js")
TOKEN = "a-token-of-the-test-0123456789abcdef"


@asynccontextmanager
async def listening(folder: Path, **app: Any) -> AsyncIterator[str]:
    """The URL of a Hub that takes whoever dials in with TOKEN."""
    file = folder / "bytebot.app.json"
    file.write_text(json.dumps(app))
    process = await asyncio.create_subprocess_exec(
        *("node", PROGRAM, "run", str(file), "--memory", "--listen", "0"),
        env={**os.environ, "BYTEBOT_TOKEN": TOKEN},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr
    said = b""
    try:
        async with asyncio.timeout(20):
            while b"listening on " not in said:
                line = await process.stderr.readline()
                assert line, said.decode()
                said += line
        rest = asyncio.create_task(process.stderr.read())
        yield said.split(b"listening on ")[1].split(b",")[0].decode().strip()
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 10)
    await rest
