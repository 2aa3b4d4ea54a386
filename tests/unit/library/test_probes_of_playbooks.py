"""A playbook may bring probes of its own; every slip in one is told with its line."""

from pathlib import Path

import pytest

from bot.domain.errors import PlaybookError
from bot.domain.probe import CustomReading
from tests.unit.library.tables import EXTENDING, OWN, WHOLE, load, refusal, snapshot

LEAK = "leaked-memory-cgroups"


def test_own_probe_is_asked_and_its_fields_can_be_used(tmp_path: Path) -> None:
    text = (
        EXTENDING + OWN + "conditions:\n  - {name: full, when: disk.used_percent > 95, says: Full., status: degraded}\n"
    )
    book = load(tmp_path, node_health=WHOLE, book=text).get("book")
    assert [probe.name for probe in book.probes][-1] == "disk"
    full = book.conditions[-1]
    assert full.probes == ("disk",)
    assert full.holds(snapshot({"disk": CustomReading("disk", {"used_percent": 97})})) is True


def test_own_probe_is_inherited_with_its_fields(tmp_path: Path) -> None:
    child = "name: child\ntitle: x\nversion: 1\nextends: book\nprobes: [cpu, disk]\nmust_read: [disk]\ncauses: []\n"
    child += "conditions:\n  - {name: full, when: disk.used_percent > 95, says: Full.}\n"
    library = load(tmp_path, node_health=WHOLE, book=EXTENDING + OWN, child=child)
    assert [probe.name for probe in library.get("child").probes] == ["cpu", "disk"]
    assert library.get("child").must_read == ("disk",)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("name: disk", "name: cpu"), "6: name of cpu is a built-in probe"),
        (("name: disk", "name: my-disk"), '6: define_probes[0].name is "my-disk"; it should be lower-case'),
        (("[df, -P, /]", "[rm, -rf, /]"), "7: command of disk rm writes; a probe only reads"),
        (("[df, -P, /]", "df -P /"), "7: define_probes[0].command should be a list"),
        (("[df, -P, /]", "[head, 5]"), '7: define_probes[0].command[1] should be text; put it in quotes: "5"'),
        (("[df, -P, /]", "[]"), "7: define_probes[0].command is empty"),
        (("(\\d+)%", "(\\d+%"), "9: fields.used_percent of disk is not an RE2 expression: missing )"),
        (("type: number", "type: integer"), '9: define_probes[0].fields.used_percent.type is "integer".'),
        (("    fields:", "    limit: [4]\n    fields:"), '8: define_probes[0].limit should be a time like "4s"'),
        (("    fields:", "    limit: 1h\n    fields:"), "8: limit of disk is 1h; it should be from"),
        (
            ("    fields:", "    look: thrice\n    fields:"),
            '8: define_probes[0].look is "thrice". Did you mean twice?',
        ),
        (("    fields:", "    as_root: true\n    fields:"), '8: unknown key "as_root" in define_probes[0].'),
        (
            ("type: number", "typ: number"),
            '9: unknown key "typ" in define_probes[0].fields.used_percent. Did you mean type?',
        ),
    ],
)
def test_slip_in_an_own_probe_is_told_with_its_line(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    assert change[0] in OWN
    said = refusal(tmp_path, EXTENDING + OWN.replace(*change), node_health=WHOLE).splitlines()
    assert any(line.startswith(f"book.yaml:{says}") for line in said), said


def test_own_probe_is_not_defined_twice(tmp_path: Path) -> None:
    child = "name: child\ntitle: x\nversion: 1\nextends: book\n" + OWN
    with pytest.raises(PlaybookError, match=r"child\.yaml:6: name of disk is defined already"):
        load(tmp_path, node_health=WHOLE, book=EXTENDING + OWN, child=child)
