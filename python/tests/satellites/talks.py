"""An infer that says the numbers up to the one it is told, each by itself, and then leaves a file "said"."""

from pathlib import Path

import bytebot as bb

SAID = Path("said")


async def main() -> None:
    ctrl = await bb.sync(kind="infer")

    @ctrl.on_infer
    async def infer(request: bb.Event, reply: bb.InferReply) -> str:
        for number in range(int(request.messages[-1]["content"][-1]["text"])):
            reply.text(f"{number} ")
            if number % 100 == 0:
                await ctrl.drained()
        await ctrl.drained()
        SAID.touch()  # noqa: ASYNC240 (the last that it does)
        return "end_turn"

    await ctrl.start()


if __name__ == "__main__":
    bb.run(main)
