"""A toolsource: one tool, which asks the person before it writes nothing at all; and one that runs in a thread."""

import time

import bytebot as bb


async def main() -> None:
    ctrl = await bb.sync(kind="toolsource")

    @ctrl.tool(name="create-user-file", timeout_ms=10_000)
    async def create(path: str) -> str:
        """Writes a file."""
        ctrl.progress("asking", 0.5)
        answer = await ctrl.ask(f"Write {path}?", options=["yes", "no"])
        return f"{path} is there." if answer.get("value") == "yes" else "Not written."

    @ctrl.tool(read_only=True)
    def shout(text: str, times: int = 1) -> str:
        """Says it louder.

        Args:
            text: What is said.
            times: How often.
        """
        print("shouting")
        until = time.monotonic() + 0.01
        while time.monotonic() < until and not bb.current_call().cancelled:
            time.sleep(0.001)
        return text.upper() * times

    await ctrl.start()


if __name__ == "__main__":
    bb.run(main)
