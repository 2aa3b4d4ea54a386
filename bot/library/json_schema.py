"""The JSON Schema of a playbook's file, for editors, with a description of every key."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import Any

from bot.library.shapes import SHAPES, WORD, PlaybookShape, table

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(probes: Collection[str], causes: Collection[str], actions: Iterable[str]) -> dict[str, Any]:
    """Return the schema. It suggests the names of these probes, causes and actions.

    Shape: rules that span several keys (the thresholds of a cause, the names in an expression) are not in it.
    """
    from pydantic.json_schema import GenerateJsonSchema  # imported here, because a check does not need it

    schema = GenerateJsonSchema().generate(table(PlaybookShape))
    words = {
        frozenset(field.name for field in fields(kind)): {
            field.name: str(field.metadata["says"]) for field in fields(kind)
        }
        for kind in SHAPES
    }
    _describe(schema, words)
    top = schema["properties"]
    asked = {"anyOf": [{"enum": sorted(probes)}, {"type": "string", "pattern": WORD}]}
    for key in ("probes", "must_read"):
        _list_of(top[key])["items"] = asked
    names = sorted(causes)
    _list_of(top["all_but"])["items"] = {"enum": sorted({*probes, *names})}
    for way in top["causes"]["anyOf"][0]["oneOf"]:
        if way["type"] == "array":
            way["items"] = {"enum": names}
        else:
            way["propertyNames"] = {"enum": names}
            used = way["additionalProperties"]["anyOf"][0]
            _list_of(used["properties"]["remedy"])["items"] = {"enum": list(actions)}
    return {"$schema": DIALECT, **schema, "title": "Playbook"}


def _list_of(nullable: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(way for way in nullable["anyOf"] if way["type"] == "array")
    return found


def _describe(schema: Any, words: dict[frozenset[str], dict[str, str]]) -> None:
    """Walk the schema and replace every key's title by its description. Tables are recognised by their keys."""
    if isinstance(schema, list):
        for item in schema:
            _describe(item, words)
    elif isinstance(schema, dict):
        described = words.get(frozenset(schema.get("properties", {})), {})
        for name, part in schema.get("properties", {}).items():
            part.pop("title", None)
            if part.get("default", "") is None:
                part.pop("default")
            if name in described:
                part["description"] = described[name]
            _describe(part, words)
        if described:
            schema.pop("title", None)
            schema["additionalProperties"] = False
        for key in ("anyOf", "oneOf", "items", "additionalProperties"):
            _describe(schema.get(key), words)
        for part in schema.get("patternProperties", {}).values():
            _describe(part, words)
