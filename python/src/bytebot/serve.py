"""How the Hub's requests are served, and what answers those that fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import Context, copy_context
from typing import Any

from .answers import Stop, Work
from .codec import Event
from .connection import Connection
from .errors import BytebotError
from .reply import InferReply
from .threads import in_thread, is_async

_MAX_MESSAGE = 8000

_SERVED_BY: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "bb_context_render_request": lambda event: "register @ctrl.on_render",
    "bb_infer_request": lambda event: "register @ctrl.on_infer",
    "bb_tool_call_request": lambda event: f'add the tool "{str(event.get("name"))[:200]}" with @ctrl.tool',
}


def request_key(event: Mapping[str, Any]) -> str | None:
    """What names a request of the Hub's to its satellite; None for every other event."""
    if event["event_type"] not in _SERVED_BY:
        return None
    key = event.get("call_id" if event["event_type"] == "bb_tool_call_request" else "id")
    return key if isinstance(key, str) else None


async def call(handler: Callable[..., Any], context: Context, /, *args: Any, **named: Any) -> Any:
    """An async handler here, a sync one in a thread; the latter may return a coroutine too. `named`: of any name."""
    if is_async(handler):
        return await handler(*args, **named)
    result = await in_thread(lambda: handler(*args, **named), context)
    return await result if inspect.isawaitable(result) else result


def failed_answer(request: Mapping[str, Any], error: BytebotError) -> dict[str, Any]:
    wire = {**error.to_wire(), "message": error.message[:_MAX_MESSAGE]}
    failed = {"success": False, "error": wire}
    if request["event_type"] == "bb_context_render_request":
        return {"event_type": "bb_context_render_result", "in_reply_to": request["id"], **failed}
    if request["event_type"] == "bb_infer_request":
        loop = {"loop_id": request["loop_id"]} if "loop_id" in request else {}
        return {"event_type": "bb_infer_result", "in_reply_to": request["id"], **loop, **failed}
    status = error.code if error.code in ("cancelled", "timeout") else "error"
    content = [{"type": "text", "text": wire["message"]}]
    answer = {"event_type": "bb_tool_call_result", "call_id": request["call_id"], "status": status, "content": content}
    return {**answer, **failed}


def render_work(request: Event, handler: Callable[..., Any]) -> Work:
    shape = {"api_shape": request["api_shape"]} if "api_shape" in request else {}

    async def run(stop: Stop) -> dict[str, Any]:
        reply = await call(handler, copy_context(), request)
        if reply is not None and not isinstance(reply, Mapping):
            message = "on_render has to return a dict, such as {'system': …}, or None for the Hub's defaults"
            raise BytebotError("internal", message)
        answer = {"event_type": "bb_context_render_result", "in_reply_to": request["id"], "success": True}
        return {**shape, **(reply or {}), **answer}

    return Work(request["id"], run, lambda error: failed_answer(request, error), threaded=not is_async(handler))


def infer_work(request: Event, handler: Callable[..., Any], connection: Connection) -> Work:
    async def run(stop: Stop) -> dict[str, Any]:
        reply = InferReply(request["id"], connection.send)
        stop.heard.append(reply.stop)
        try:
            end = await call(handler, copy_context(), request, reply)
            # What says no more has ended its turn.
            said = {"stop_reason": end} if isinstance(end, str) else end
            if not isinstance(said, Mapping) or "stop_reason" not in said:
                raise BytebotError("internal", "on_infer has to return { stop_reason }")
            usage = {"usage": said["usage"]} if said.get("usage") is not None else {}
            # What was left unsaid after a cancel is missing: it cannot pass as a whole reply.
            if stop.reason:
                return {**failed_answer(request, stop.reason), **usage}
            reply.finish()
        finally:
            reply.stop()
        answer = {"event_type": "bb_infer_result", "in_reply_to": request["id"], "success": True}
        loop = {"loop_id": request["loop_id"]} if "loop_id" in request else {}
        return {**answer, **loop, "stop_reason": said["stop_reason"], **usage}

    return Work(request["id"], run, lambda error: failed_answer(request, error), threaded=not is_async(handler))


def handler_work(request: Event, key: str, handlers: list[Callable[..., Any]]) -> Work:
    """Served by plain handlers of its type, which send the answer themselves."""

    async def run(stop: Stop) -> None:
        for handler in handlers:
            await call(handler, copy_context(), request)

    threaded = not all(map(is_async, handlers))
    return Work(key, run, lambda error: failed_answer(request, error), threaded=threaded)


def missing_work(request: Event, key: str) -> Work:
    """Nothing here serves it: the Hub learns so at once, and the author how to mend it."""

    fix = _SERVED_BY[request["event_type"]](request)
    return refused_work(request, "unavailable", f"this component does not serve {request['event_type']}: {fix}", key)


def refused_work(request: Event, code: str, message: str, key: str | None = None) -> Work:
    async def run(stop: Stop) -> None:
        raise BytebotError(code, message)

    return Work(key or request["id"], run, lambda error: failed_answer(request, error))
