"""An infer with a script for a model: it calls a tool, reports, tells a story without end, or repeats what it heard."""

import asyncio
from typing import Any

import bytebot as bb


async def main() -> None:
    ctrl = await bb.sync(kind="infer", capabilities={"api_shape": "anthropic"})

    @ctrl.on_infer
    async def infer(request: bb.Event, reply: bb.InferReply) -> dict[str, Any]:
        last = request.messages[-1]["content"][-1]
        usage = {"input_tokens": 10, "output_tokens": 5}
        if last["type"] == "tool_result":
            reply.text("Done. ")
            reply.text(last["content"][0]["text"])
        elif last.get("text") == "ship it" and request.get("tools"):
            reply.tool_use(request.tools[0]["name"], {"path": "a.txt"})
            return {"stop_reason": "tool_use", "usage": usage}
        elif "story" in last.get("text", ""):
            reply.text("Once upon a time")
            await asyncio.Event().wait()
        else:
            reply.text(last.get("text", "?"))
        return {"stop_reason": "end_turn", "usage": usage}

    await ctrl.start()


if __name__ == "__main__":
    bb.run(main)
