"""Serves one of these satellites over HTTP: `python serve.py ui`."""

import asyncio
import importlib.util
import sys
from pathlib import Path

import bytebot as bb

spec = importlib.util.spec_from_file_location("satellite", Path(__file__).with_name(f"{sys.argv[1]}.py"))
assert spec and spec.loader
satellite = importlib.util.module_from_spec(spec)
spec.loader.exec_module(satellite)

if __name__ == "__main__":
    asyncio.run(bb.serve_http(satellite.main, port=0, send_acks=len(sys.argv) > 2))
