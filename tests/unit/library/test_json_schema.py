"""The JSON Schema that editors use accepts what the library accepts, and points at the same slips."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.unit.library.tables import EXTENDING, OWN, WHOLE, load


@pytest.fixture
def validator(tmp_path: Path) -> jsonschema.Draft202012Validator:
    schema = load(tmp_path / "books", node_health=WHOLE).json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("text", [WHOLE, EXTENDING + OWN, EXTENDING + "causes: [lockup]\nprobes: [kernel_log]\n"])
def test_right_playbook_is_right_to_editors(validator: jsonschema.Draft202012Validator, text: str) -> None:
    validator.validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace("title:", "titel:"),
        WHOLE.replace("version: 3", "version: x"),
        WHOLE.replace("  lockup:", "  lokup:"),
        WHOLE.replace("[disable_unit, reboot]", "[disable_units]"),
        WHOLE.replace(", reason: a fresh boot has about 17", ""),
        WHOLE.replace("status: degraded", "status: healthy"),
        EXTENDING + "causes: [lokup]\n",
        EXTENDING + OWN.replace("type: number", "type: int"),
        EXTENDING + OWN.replace("    fields:", "    as_root: true\n    fields:"),
        "[]",
    ],
)
def test_wrong_playbook_is_wrong_to_editors(validator: jsonschema.Draft202012Validator, text: str) -> None:
    assert not validator.is_valid(yaml.safe_load(text))


def test_every_key_has_a_word_of_explanation(tmp_path: Path) -> None:
    def unexplained(schema: Any, at: str = "") -> list[str]:
        if isinstance(schema, list):
            return [name for one in schema for name in unexplained(one, at)]
        if not isinstance(schema, dict):
            return []
        own = schema.get("properties", {}) if schema.get("type") == "object" else {}
        missing = [f"{at}.{name}" for name, one in own.items() if not one.get("description")]
        return missing + [
            name for key, one in schema.items() if key != "enum" for name in unexplained(one, f"{at}.{key}")
        ]

    assert unexplained(load(tmp_path, node_health=WHOLE).json_schema()) == []
