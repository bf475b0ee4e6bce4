"""Writes src/bytebot/events.py from spec/wire.schema.json, each event a TypedDict; `--check`: is it as it would be?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCHEMA = HERE.parent.parent / "spec" / "wire.schema.json"
TARGET = HERE.parent / "src/bytebot/events.py"

HEAD = '''"""The events of the wire, typed. Written by scripts/generate_events.py from the JSON Schema: do not edit.

A handler may say which one it takes (`def render(chunk: events.InferChunk)`); at run time each is a `bytebot.Event`.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict
'''

Schema = dict[str, Any]


def pascal(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.removeprefix("bb_").split("_"))


def class_of(name: str) -> str:
    shown = name.startswith("tool_")  # beside `bb_tool_…`, which executes
    return "ErrorEvent" if name == "bb_error" else f"{pascal(name)}Shown" if shown else pascal(name)


class Writer:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.out: list[str] = []
        self.named: dict[str, str] = {name: class_of(name) for name in schema["$defs"]}

    def write(self) -> str:
        defs: dict[str, Schema] = self.schema["$defs"]
        events = [name for name in defs if name[0].islower()]
        for name, schema in defs.items():
            self.define(self.named[name], schema)
        # A Literal of names and a map of their types: what a checker and a person look up.
        names = ", ".join(f'"{name}"' for name in events)
        self.out.append(f"EventType: TypeAlias = Literal[{names}]")
        return HEAD + "\n\n" + "\n\n".join(self.out) + "\n"

    def define(self, name: str, schema: Schema) -> None:
        forms = schema.get("oneOf") or schema.get("anyOf")
        if forms:
            kinds = [self.type_of(form, f"{name}{self.kind_of(form, at)}") for at, form in enumerate(forms)]
            quoted = ", ".join(f'"{kind}"' if kind.isidentifier() else kind for kind in kinds)
            self.out.append(f"{name}: TypeAlias = {self.union(quoted.split(', ') if self.plain(kinds) else kinds)}")
        elif schema.get("type") == "object" and "properties" in schema:
            self.typed_dict(name, schema)
        else:
            self.out.append(f"{name}: TypeAlias = {self.type_of(schema, name)}")

    @staticmethod
    def plain(kinds: list[str]) -> bool:
        return all(kind.isidentifier() for kind in kinds)

    @staticmethod
    def union(kinds: list[str]) -> str:
        bare = [kind.strip('"') for kind in kinds]
        return f'"{" | ".join(dict.fromkeys(bare))}"'

    @staticmethod
    def kind_of(form: Schema, at: int) -> str:
        properties = form.get("properties", {})
        for field in ("kind", "type", "role"):
            given = properties.get(field, {})
            if "const" in given:
                return pascal(str(given["const"]))
        return str(at + 1)

    def typed_dict(self, name: str, schema: Schema) -> None:
        required = schema.get("required", [])
        fields = []
        for field, inner in schema["properties"].items():
            kind = self.type_of(inner, f"{name}{pascal(field)}")
            fields.append(f'"{field}": "{kind}"' if field in required else f'"{field}": "NotRequired[{kind}]"')
        self.out.append(f'{name} = TypedDict("{name}", {{{", ".join(fields)}}})')

    def type_of(self, schema: Schema, name: str) -> str:
        simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
        kind = schema.get("type")
        if "$ref" in schema:
            return self.named[str(schema["$ref"]).rsplit("/", 1)[-1]]
        if "const" in schema or "enum" in schema:
            values = schema.get("enum", [schema.get("const")])
            return f"Literal[{', '.join(repr(value) for value in values)}]"
        if "oneOf" in schema or "anyOf" in schema:
            forms = schema.get("oneOf") or schema["anyOf"]
            kinds = [self.type_of(form, f"{name}{self.kind_of(form, at)}") for at, form in enumerate(forms)]
            return " | ".join(dict.fromkeys(kinds))
        if kind == "array":
            return f"list[{self.type_of(schema.get('items', {}), f'{name}Item')}]"
        if kind == "object":
            if "properties" not in schema:
                return "dict[str, Any]"
            self.typed_dict(name, schema)
            return name
        return simple.get(str(kind), "Any")


def generated() -> str:
    text = Writer(json.loads(SCHEMA.read_text())).write()
    formatting = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(formatting, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    text = generated()
    if "--check" not in sys.argv:
        TARGET.write_text(text)
    elif TARGET.read_text() != text:
        sys.exit(f"{TARGET.name} is not what the schema says: run python {Path(__file__).name}")
