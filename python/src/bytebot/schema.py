"""JSON Schema from type hints, and whether a value fits it."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin

from .errors import BytebotError

Schema = dict[str, Any]
_SIMPLE: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_PLAIN = str | int | float | bool | None
_JSON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def schema_of(function: Callable[..., Any], where: str) -> tuple[str, Schema]:
    """The description and the input schema of a tool: from its docstring, parameters and their types.

    Raises BytebotError `invalid_params` for a parameter that JSON has no place for.
    """
    text, about = _docstring(function)
    hints = typing.get_type_hints(function, include_extras=True)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BytebotError("invalid_params", f"{where}: {parameter} has no name for the model: take it by name")
        schema = to_schema(hints.get(name, Any), f"{where}: {name}")
        if name in about:
            schema = {**schema, "description": about[name]}
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            default = parameter.default.value if isinstance(parameter.default, enum.Enum) else parameter.default
            if isinstance(default, str | int | float | bool):
                schema = {**schema, "default": default}
        properties[name] = schema
    return text, {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def to_schema(hint: Any, where: str) -> Schema:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return {}
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if origin is typing.Annotated:
        texts = [each for each in hint.__metadata__ if isinstance(each, str)]
        return {**to_schema(inner[0], where), **({"description": texts[0]} if texts else {})}
    if origin in (Required, NotRequired):
        return to_schema(inner[0], where)
    if origin is Literal and all(isinstance(_value(each), _PLAIN) for each in inner):
        return {"enum": [_value(each) for each in inner]}
    if is_union(origin):
        return {"anyOf": [to_schema(each, where) for each in inner]}
    if hint is list or origin is list:
        return {"type": "array", **({"items": to_schema(inner[0], where)} if inner else {})}
    if hint is dict or (origin is dict and inner[0] is str):
        return {"type": "object", **({"additionalProperties": to_schema(inner[1], where)} if inner else {})}
    if typing.is_typeddict(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        named = {name: to_schema(each, f"{where}.{name}") for name, each in fields.items()}
        return {"type": "object", "properties": named, "required": sorted(hint.__required_keys__)}
    members = list(hint) if isinstance(hint, type) and issubclass(hint, enum.Enum) else []
    if members and all(isinstance(each.value, _PLAIN) for each in members):
        return {"enum": [each.value for each in members]}
    raise BytebotError(
        "invalid_params",
        f"{where} is a {hint}, which JSON has no place for: take str, int, float, bool, None, list, dict with "
        "text keys, a Literal or an Enum of texts and numbers, a TypedDict or a union of them, or pass input_schema",
    )


def is_union(origin: Any) -> bool:
    return origin in (Union, types.UnionType)


def _value(literal: Any) -> Any:
    return literal.value if isinstance(literal, enum.Enum) else literal


def misfit(value: object, schema: Schema, where: str = "input") -> str | None:
    """What is wrong with it, in words for the model; None: it fits. Knows what `to_schema` writes."""
    if "anyOf" in schema:
        found = [misfit(value, each, where) for each in schema["anyOf"]]
        return None if None in found else found[0]
    if "enum" in schema:
        fits = any(value == each and type(value) is type(each) for each in schema["enum"])
        return None if fits else f"{where} has to be one of {schema['enum']}"
    kind = schema.get("type")
    if kind and not _is(value, kind):
        return f"{where} has to be {'an' if kind[0] in 'aio' else 'a'} {kind}"
    if kind == "array":
        items = [misfit(each, schema.get("items", {}), f"{where}[{at}]") for at, each in enumerate(_list(value))]
        return next((each for each in items if each), None)
    return _misfit_object(value, schema, where) if isinstance(value, dict) and kind == "object" else None


def _misfit_object(value: Mapping[str, Any], schema: Schema, where: str) -> str | None:
    missing = [name for name in schema.get("required", []) if name not in value]
    if missing:
        return f"{where} lacks {', '.join(missing)}"
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name, each in value.items():
        if name not in properties and more is False:
            return f"{where} has no {name[:100]}"
        wrong = misfit(each, properties.get(name, more), f"{where}.{name[:100]}")
        if wrong:
            return wrong
    return None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _JSON[kind])


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What stands before `Args:`, and what is said there of each argument."""
    text, _, rest = (inspect.getdoc(function) or "").partition("\nArgs:\n")
    about: dict[str, str] = {}
    name = ""
    for line in rest.split("\n"):
        if line and not line.startswith(" "):
            break
        head, colon, said = line.strip().partition(":")
        if colon and line.startswith("    ") and not line.startswith("     "):
            name = head.split("(")[0].strip()
            about[name] = said.strip()
        elif name and line.strip():
            about[name] = f"{about[name]} {line.strip()}".strip()
    return text.strip(), about
