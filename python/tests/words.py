"""The words of errors in the sources of both SDKs, with `{}` for what is filled in."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "python/src/bytebot"
TYPESCRIPT = ROOT / "packages/bytebot/src"

#: A TypeScript text: in quotes, or a template, whose own braces may hold a nested template.
_TEXT = r'"(?:[^"\\]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^`{}]|\{[^{}]*\}|`[^`]*`)*\})*`'


def of_python() -> dict[str, str]:
    """Each text that a BytebotError is raised with, and its code."""
    found: dict[str, str] = {}
    for file in sorted(PYTHON.rglob("*.py")):
        tree = ast.parse(file.read_text())
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
                continue
            texts = {
                target.id: assign.value
                for assign in ast.walk(function)
                if isinstance(assign, ast.Assign)
                for target in assign.targets
                if isinstance(target, ast.Name)
            }
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "BytebotError" and len(call.args) > 1:
                    code, said = call.args[:2]
                    value = texts.get(said.id, said) if isinstance(said, ast.Name) else said
                    words = _words(value)
                    if words and isinstance(code, ast.Constant):
                        found[words] = str(code.value)
    return found


def of_typescript() -> set[str]:
    """Every text of the sources: which of them are errors shows where one is the same."""
    texts: set[str] = set()
    for file in sorted(TYPESCRIPT.rglob("*.ts")):
        for quoted in re.findall(_TEXT, file.read_text()):
            inner = re.sub(r"\$\{(?:[^`{}]|\{[^{}]*\}|`[^`]*`)*\}", "{}", quoted[1:-1])
            texts.add(normal(inner.replace('\\"', '"').replace("\\`", "`")))
    return texts


def normal(text: str) -> str:
    """In one line, and the API's names as Python has them."""
    snake = re.sub(r"\b(on|to)([A-Z][a-z]+)\b", lambda found: f"{found[1]}_{found[2].lower()}", text)
    return re.sub(r"\s+", " ", snake.replace("\\n", " ")).strip()


def _words(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return normal(text)
        case ast.JoinedStr(values=parts):
            return normal("".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts))
    return None


#: What Python alone has to say: of its types and its own API, of the Hub that it starts, and of aiohttp.
OWN = {
    '"{}" is a {}, which JSON cannot carry',
    "BYTEBOT_BIN names {}, which is no file",
    'a component is a reference, {"ref": …, "opts": {…}}, or a main of this program',
    "a Hub runs on Node {} or later, and {}: {}",
    "a blob could not be carried: {}",
    "a key in {} is a {}: a key is a text",
    "a scope is made of texts, and this is a {}",
    'bb_sync_ack: "limits" has to say line_bytes, values and depth',
    "it has ended: attach it anew",
    "it was cancelled here",
    "its data is no base64",
    "on_render has to return a dict, such as {'system': …}, or None for the Hub's defaults",
    "there is no bytebot program: run npm install bytebot in this folder, or set BYTEBOT_BIN to bytebot.js",
    "there is no current call: do this within a tool",
    "this event cannot be JSON: {}",
    'tool "{}": its input has to be an object, such as {"type": "object"}',
    "what the tool returned cannot be JSON: {}",
    "{} answered with more than {} bytes",
    "{} is a {}, which JSON has no place for: take str, int, float, bool, None, list, dict with text keys, a Literal "
    "or an Enum of texts and numbers, a TypedDict or a union of them, or pass input_schema",
    "{} is no token: {}; {}",
    "{}: {} has no name for the model: take it by name",
}
#: Said in parts here, or there: the parts are the same.
PARTS = {
    "the header {} is no 1 to 128 visible ASCII characters": "1 to 128 visible ASCII characters",
    "the header {} is no whole number": "whole number",
    "{} answered with no blob block: is the URL right?": "{} answered with {}: is the URL right?",
    "{} answered with no header {}: is the URL right?": "{} answered with {}: is the URL right?",
    "{} answered with the content type {}: is the URL right?": "{} answered with {}: is the URL right?",
    "{} takes too little: {} bytes wait": "{} takes too little: {} characters wait",
    "{}: change one of them": '{}() is for kind "{}", and this satellite synced as "{}": change one of them',
    "{}; the limit is {}, larger content travels as a blob": (
        "a line of {} bytes from {}; the limit is {}, larger content travels as a blob"
    ),
    'events("{}") fell {} events behind: {}': (
        'events("{}") fell {} events behind: read faster, or narrow it by scope and types'
    ),
    "the arguments are not valid: {}": "the arguments are not valid: {}",
    "what it misses is not kept any more: begin a new one with bb_sync": "begin a new one with bb_sync",
}
