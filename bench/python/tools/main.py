"""An echo tool."""

import bytebot as bb


async def main() -> None:
    ctrl = await bb.sync(kind="toolsource")

    @ctrl.tool(read_only=True)
    async def echo(text: str) -> str:
        """Says it back."""
        return text

    await ctrl.start()


bb.run(main)
