"""The app of the web example: a Hub, the site as its UI, and a model that needs no key: it says what it heard."""

import asyncio
import os

import bytebot as bb


async def parrot() -> None:
    ctrl = await bb.sync(kind="infer")

    @ctrl.on_infer
    async def answer(request: bb.Event, reply: bb.InferReply) -> str:
        said = " ".join(block["text"] for block in request.messages[-1]["content"] if block["type"] == "text")
        for word in f"You said: {said}".split(" "):
            reply.text(f"{word} ")
            await asyncio.sleep(0.01)
        return "end_turn"

    await ctrl.start()


async def main() -> None:
    hub = bb.ByteBot(ui=f"http://127.0.0.1:{os.environ.get('WIRE_PORT', '8081')}")
    hub.attach_infer(parrot, primary=True)
    async with hub:
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
