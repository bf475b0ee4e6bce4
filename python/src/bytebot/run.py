"""`bb.run(main)`: over whatever this program was started with."""

from __future__ import annotations

import os

from .ambient import Main
from .stdio import parse_opts, run_program, run_stdio


def run(main: Main) -> None:
    """Runs a satellite's `main` as the program: on the Hub at BYTEBOT_HUB where it is set, else over stdio."""
    hub = os.environ.get("BYTEBOT_HUB")
    if hub:
        from .http.dialing import dial_http  # noqa: PLC0415 (without it, a satellite over stdio starts in half the time)

        run_program(lambda: dial_http(main, hub, opts=parse_opts(os.environ.get("BYTEBOT_OPTS"))))
    else:
        run_stdio(main)
