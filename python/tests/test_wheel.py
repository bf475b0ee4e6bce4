"""What `pip install bytebot` gives: the wheel, in an environment of its own, with the README's five minutes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

from hubs import ROOT

HERE = Path(__file__).parents[1]


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_is_pure_and_the_readmes_five_minutes_work_with_it(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(HERE)]
    run(*pip, *build, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert re.fullmatch(r"bytebot-[\d.]+-py3-none-any\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert "bytebot/py.typed" in names
    assert all(name.startswith("bytebot") for name in names)

    # A fresh environment; what the wheel needs, aiohttp, is seen where it is installed already.
    fresh = tmp_path / "venv"
    venv.create(fresh, with_pip=False, symlinks=True)
    python = fresh / "bin/python"
    run(*pip, "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    (Path(purelib) / "needs.pth").write_text(sysconfig.get_path("purelib"))
    where = run(python, "-c", "import bytebot; print(bytebot.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(fresh)

    blocks = re.findall(r"```(?:python|json)\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)
    (tmp_path / "words").mkdir()
    for name, text in zip(["words/main.py", "words/bytebot.component.json", "app.py"], blocks, strict=False):
        (tmp_path / name).write_text(text)
    # As `npm install bytebot` would have it.
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    path = f"{fresh / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert run(python, "app.py", cwd=tmp_path, PATH=path) == "It has 6 words.\n"
    assert (tmp_path / "chats.db").is_file()
