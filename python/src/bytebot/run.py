"""`bb.run(main)`: over whatever this program was started with."""

from __future__ import annotations

from .ambient import Main
from .stdio import run_stdio


def run(main: Main) -> None:
    run_stdio(main)
