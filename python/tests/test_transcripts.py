"""The golden transcripts, played to satellites of this SDK: the Hub's lines get the satellite's (spec/transcripts)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from player import Line, Player

FOLDER = Path(__file__).parents[2] / "spec/transcripts"


def roles() -> list[tuple[str, str]]:
    found = []
    for file in sorted(FOLDER.glob("*.jsonl")):
        names = [line["from"] for line in lines_of(file.stem) if line["event_type"] == "bb_sync" and "from" in line]
        found += [(file.stem, name) for name in dict.fromkeys(names) if "to" not in name]
    return found


def lines_of(name: str) -> list[Line]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().split("\n") if line]


@pytest.mark.parametrize(("name", "role"), roles())
async def test_the_hubs_lines_get_the_satellites_lines(name: str, role: str) -> None:
    await Player(role, lines_of(name)).play()


def test_the_transcripts_are_there() -> None:
    assert len(roles()) > 50
