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

from . import events
from .ambient import Kind, Main, sync
from .codec import Event
from .errors import BytebotError
from .http.dialing import dial_http
from .http.serving import Serving, serve_http, serving
from .hub import ByteBot
from .reply import InferReply, ToolUseReply
from .run import run
from .satellite import Satellite
from .scope import CURRENT_SCOPE, current_scope, encloses, scoped, to_scope
from .stdio import run_stdio
from .threads import wait
from .tools import Call, current_call

__all__ = [
    "CURRENT_SCOPE",
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
