"""A telemetry: it counts what it sees."""

import sys
from collections import Counter

import bytebot as bb


async def main() -> None:
    ctrl = await bb.sync(kind="telemetry")
    seen: Counter[str] = Counter()

    @ctrl.on("*")
    def count(event: bb.Event) -> None:
        seen[event.event_type] += 1

    await ctrl.start()
    print(dict(seen), file=sys.stderr)


if __name__ == "__main__":
    bb.run(main)
