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
    found = _named(named) if named else _above("bytebot/bin/bytebot.js") or shutil.which("bytebot")
    node = await _node()
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


def _above(file: str) -> str | None:
    """In the node_modules of this folder, or of one above."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "node_modules" / file).is_file():
            return str(folder / "node_modules" / file)
    return None


async def _node() -> str:
    """The first that is new enough: the one that node_modules brings (`npm install node`), or that of the PATH."""
    need = ".".join(map(str, OLDEST))
    old = ""
    for node in (_above(".bin/node"), shutil.which("node")):
        if node:
            version = await _version(node)
            if version >= OLDEST:
                return node
            old = f"{node} is {'.'.join(map(str, version)) or 'none'}"
    raise BytebotError(
        "unavailable", f"a Hub runs on Node {need} or later, and {old or 'there is no node'}: {_GET_NODE}"
    )


async def _version(node: str) -> tuple[int, ...]:
    """Empty where it does not say."""
    try:
        child = await asyncio.create_subprocess_exec(node, "--version", stdout=asyncio.subprocess.PIPE)
    except OSError:
        return ()
    said, _ = await child.communicate()
    found = re.match(rb"v(\d+)\.(\d+)\.(\d+)", said)
    return tuple(int(part) for part in found.groups()) if found else ()
