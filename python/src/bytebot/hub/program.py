"""Finds the `bytebot` program and the Node that runs it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path

from ..errors import BytebotError

OLDEST = (22, 19)
_GET_NODE = "get it from https://nodejs.org, or with your system's packages"


async def command() -> list[str]:
    """BYTEBOT_BIN, else the package in node_modules here or above, else `bytebot` on the PATH.

    Raises BytebotError `unavailable`, which says how to get what is missing.
    """
    named = os.environ.get("BYTEBOT_BIN")
    found = _named(named) if named else _in_modules() or shutil.which("bytebot")
    node = shutil.which("node")
    if not node:
        need = ".".join(map(str, OLDEST))
        raise BytebotError("unavailable", f"a Hub runs on Node {need} or later, and there is no node: {_GET_NODE}")
    await _check(node)
    if not found:
        message = (
            "there is no bytebot program: run npm install bytebot in this folder, or set BYTEBOT_BIN to bytebot.js"
        )
        raise BytebotError("unavailable", message)
    return [node, found] if found.endswith((".js", ".mjs")) else [found]


def _named(path: str) -> str:
    if not Path(path).is_file():
        raise BytebotError("unavailable", f"BYTEBOT_BIN names {path}, which is no file")
    return path


def _in_modules() -> str | None:
    for folder in (Path.cwd(), *Path.cwd().parents):
        program = folder / "node_modules/bytebot/bin/bytebot.js"
        if program.is_file():
            return str(program)
    return None


async def _check(node: str) -> None:
    child = await asyncio.create_subprocess_exec(node, "--version", stdout=asyncio.subprocess.PIPE)
    said, _ = await child.communicate()
    version = re.match(rb"v(\d+)\.(\d+)", said)
    if not version or (int(version[1]), int(version[2])) < OLDEST:
        shown = said.decode(errors="replace").strip()[:40] or "of an unknown version"
        need = ".".join(map(str, OLDEST))
        raise BytebotError("unavailable", f"a Hub runs on Node {need} or later, and {node} is {shown}: {_GET_NODE}")
