"""ByteBot for Python: satellites that speak the wire, and apps that hold a Hub.

import bytebot as bb

async def main():
    ctrl = await bb.sync(kind="toolsource")

    @ctrl.tool
    def add(a: int, b: int) -> int:
        "Adds two numbers."
        return a + b

    await ctrl.start()

bb.run(main)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .ambient import Kind, Main, sync
from .codec import Event
from .errors import BytebotError
from .hub import ByteBot
from .reply import InferReply, ToolUseReply
from .run import run
from .satellite import Satellite
from .scope import CURRENT_SCOPE, current_scope, encloses, scoped, to_scope
from .stdio import run_stdio
from .threads import wait
from .tools import Call, current_call
from .transfers import Blob, BlobReading, BlobSource

if TYPE_CHECKING:
    from . import events
    from .http.dialing import dial_http
    from .http.serving import Serving, serve_http, serving

# What needs aiohttp, and what is for the type checker, is loaded when it is used: a satellite over stdio starts in half
# the time without it.
_OVER_HTTP = {"dial_http": "dialing", "Serving": "serving", "serve_http": "serving", "serving": "serving"}


def __getattr__(name: str) -> Any:
    if name == "events":
        return import_module(".events", __name__)
    if name not in _OVER_HTTP:
        raise AttributeError(f'module "bytebot" has no attribute "{name}"')
    return getattr(import_module(f".http.{_OVER_HTTP[name]}", __name__), name)


__all__ = [
    "CURRENT_SCOPE",
    "Blob",
    "BlobReading",
    "BlobSource",
    "ByteBot",
    "BytebotError",
    "Call",
    "Event",
    "InferReply",
    "Kind",
    "Main",
    "Satellite",
    "Serving",
    "ToolUseReply",
    "current_call",
    "current_scope",
    "dial_http",
    "encloses",
    "events",
    "run",
    "run_stdio",
    "scoped",
    "serve_http",
    "serving",
    "sync",
    "to_scope",
    "wait",
]
