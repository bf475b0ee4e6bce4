"""An app whose log is looked at afterwards: `python turns.py FILE`.

Two conversations: calls in parallel, one of which asks and one fails; input that waits; an interrupt; a blob.
"""

from __future__ import annotations

import asyncio
import sys

import bytebot as bb


async def context() -> None:
    ctrl = await bb.sync(kind="context", controller=True, capabilities={"history": {"incremental": {}}})
    ctrl.on_render(lambda request: {"system": f"{len(request.history)} messages so far."})
    await ctrl.start()


async def infer() -> None:
    ctrl = await bb.sync(kind="infer")

    @ctrl.on_infer
    async def answer(request: bb.Event, reply: bb.InferReply) -> str:
        last = request.messages[-1]["content"][-1]
        if last["type"] == "tool_result":
            reply.text("Done.")
        elif last.get("text") == "work":
            reply.text("On it. ")
            for name in ("write", "fail", "draw"):
                reply.tool_use(name, {})
            return "tool_use"
        elif last.get("text") == "story":
            reply.text("Once upon a time")
            await asyncio.Event().wait()
        else:
            reply.text("Hello.")
        return "end_turn"

    await ctrl.start()


async def tools() -> None:
    ctrl = await bb.sync(kind="toolsource")

    @ctrl.tool
    async def write() -> str:
        return str((await ctrl.ask("Write?", options=["yes", "no"])).value)

    @ctrl.tool
    def fail() -> None:
        raise bb.BytebotError("not_found", "There is no such file.")

    @ctrl.tool
    def draw() -> bytes:
        return bytes(400_000)

    await ctrl.start()


async def ui() -> None:
    ctrl = await bb.sync(kind="ui", input_capable=True)

    @ctrl.on("input_strict")
    async def yes(question: bb.Event) -> None:
        await ctrl.answer(question, "accepted", "yes")

    @ctrl.on_infer_chunk
    async def enough(chunk: bb.Event) -> None:
        if chunk.kind == "block_delta" and chunk.delta.startswith("Once"):
            await ctrl.interrupt(None, "enough")

    await ctrl.start()


async def main() -> None:
    hub = bb.ByteBot(ui=ui, context=context, file=sys.argv[1])
    hub.attach_infer(infer, primary=True)
    hub.attach(tools)
    async with hub:
        ended = asyncio.create_task(until_idle(hub, 2))
        await asyncio.sleep(0)
        for scope in ("u_1", "u_2/c_1"):
            for text in ("work", "story", "hi"):
                await hub.send(scope, text)
        print(*sorted(await asyncio.wait_for(ended, 30)))


async def until_idle(hub: bb.ByteBot, conversations: int) -> list[str]:
    """How the turns ended. What waited behind an interrupted one was returned."""
    reasons: list[str] = []
    idle = 0
    async for event in hub.events(types=["infer_chunk", "scope_state"]):
        if event.get("kind") == "loop_done":
            reasons.append(event.stop_reason)
        idle += event.get("state") == "idle"
        if idle == conversations:
            break
    return reasons


if __name__ == "__main__":
    asyncio.run(main())
