"""A UI: it sends two messages, says yes to questions and interrupts the second turn."""

import bytebot as bb

SCOPE = "u_7f3a"


async def main() -> None:
    ctrl = await bb.sync(kind="ui", input_capable=True, primary=True)
    said = ["ship it", "tell me a long story"]
    interrupted = False

    async def say(_: bb.Event | None = None) -> None:
        if said:
            await ctrl.send_user_event(SCOPE, said.pop(0))

    @ctrl.on_infer_chunk
    async def stop(chunk: bb.Event) -> None:
        nonlocal interrupted
        if chunk.kind == "block_delta" and not said and not interrupted:
            interrupted = True
            await ctrl.interrupt(None, "enough")

    @ctrl.on("input_strict")
    async def answer(question: bb.Event) -> None:
        await ctrl.answer(question, "accepted", (question.get("options") or ["yes"])[0])

    @ctrl.on("scope_state")
    async def next_one(state: bb.Event) -> None:
        if state.state == "idle" and interrupted:
            await ctrl.close("all is said")
        elif state.state == "idle":
            await say()

    ctrl.on("bb_live", say)
    await ctrl.start()


if __name__ == "__main__":
    bb.run(main)
