"""A context: the conversation as it is, under a system text of its own."""

import bytebot as bb


async def main() -> None:
    ctrl = await bb.sync(kind="context", controller=True)

    @ctrl.on_render
    async def render(request: bb.Event) -> dict[str, object]:
        print("rendering", request.scope)
        return {"system": "Be brief.", "messages": request.history}

    await ctrl.start()


if __name__ == "__main__":
    bb.run(main)
