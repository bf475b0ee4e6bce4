"""Components that run in the Python app's own program."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hubs import PROGRAM

import bytebot as bb


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTEBOT_BIN", PROGRAM)
    monkeypatch.chdir(Path(__file__).parent)


async def test_functions_of_the_app_are_its_context_its_infer_its_tools_and_its_ui() -> None:
    done = asyncio.Event()
    shown: list[str] = []

    async def context() -> None:
        ctrl = await bb.sync(kind="context", controller=True)
        assert ctrl.granted.controller is True
        ctrl.on_render(lambda request: {"system": "Be brief."})
        await ctrl.start()

    async def infer(opts: dict[str, str]) -> None:
        ctrl = await bb.sync(kind="infer")

        @ctrl.on_infer
        async def answer(request: bb.Event, reply: bb.InferReply) -> str:
            last = request.messages[-1]["content"][-1]
            if last["type"] != "tool_result":
                reply.tool_use("greet", {"name": last["text"]})
                return "tool_use"
            reply.text(f"{request.system} {last['content'][0]['text']}{opts['end']}")
            return "end_turn"

        await ctrl.start()

    async def greeter() -> None:
        ctrl = await bb.sync(kind="toolsource")

        @ctrl.tool
        def greet(name: str) -> str:
            "Greets somebody."
            assert bb.current_scope() == "u_1"
            return f"Hello {name}"

        await ctrl.start()

    async def ui() -> None:
        ctrl = await bb.sync(kind="ui", input_capable=True)

        @ctrl.on_infer_chunk
        async def show(chunk: bb.Event) -> None:
            if chunk.kind == "block_delta" and chunk.block_type == "text":
                shown.append(chunk.delta)
            if chunk.kind == "loop_done":
                done.set()

        started = asyncio.create_task(ctrl.start())
        await ctrl.send_user_event("u_1", "Kim")
        await done.wait()
        await ctrl.close()
        await started

    hub = bb.ByteBot(ui=ui, context={"main": context, "name": "brief"})
    hub.attach_infer({"main": infer, "opts": {"end": "!"}}, primary=True)
    hub.attach(greeter)
    async with hub:
        await asyncio.wait_for(done.wait(), 20)
        assert "".join(shown) == "Be brief. Hello Kim!"
        async with asyncio.timeout(10):
            # The UI has ended: it is attached no more, and does not come again.
            while [each["component_id"] for each in await hub.components()] != ["brief", "infer", "greeter"]:
                await asyncio.sleep(0.01)
        await hub.detach("greeter")
    assert not hub._inprocess


async def test_a_function_that_fails_before_it_has_synced_fails_the_start_with_its_own_words() -> None:
    async def broken() -> None:
        raise RuntimeError("no key for the model")

    hub = bb.ByteBot()
    hub.attach(broken)
    with pytest.raises(RuntimeError, match="no key for the model"):
        await hub.start()


async def test_a_github_slug_is_refused_with_what_to_do_instead() -> None:
    hub = bb.ByteBot()
    hub.attach("someone/something")
    with pytest.raises(bb.BytebotError, match=r"git clone https://github.com/someone/something and attach its path"):
        await hub.start()
