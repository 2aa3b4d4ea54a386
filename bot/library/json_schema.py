"""The JSON Schema of a playbook's file, for editors, with a description of every key."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from bot.library.shapes import WORD, PlaybookShape, table

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(probes: Collection[str], causes: Collection[str], actions: Iterable[str]) -> dict[str, Any]:
    """Return the schema. It suggests the names of these probes, causes and actions.

    Shape: rules that span several keys (the thresholds of a cause, the names in an expression) are not in it.
    """
    from pydantic.json_schema import GenerateJsonSchema  # imported here, because a check does not need it

    class Generate(GenerateJsonSchema):
        """Leaves out titles, which repeat the keys, and what a key is without being given: nothing."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

        def default_schema(self, schema: Any) -> dict[str, Any]:
            found = super().default_schema(schema)
            return found if schema["default"] is not None else {k: v for k, v in found.items() if k != "default"}

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            found = super().dataclass_schema(schema)
            del found["title"]
            return {**found, "additionalProperties": False}

    schema = Generate().generate(table(PlaybookShape))
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
