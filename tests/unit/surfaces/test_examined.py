"""An examination as people and scripts read it."""

import json
from pathlib import Path

import yaml

from bot.domain.examined import Examined, Mark, all_well
from bot.surfaces.examined import examination_document, examination_text
from bot.surfaces.slack.examination import SCOPES
from tests.readings.secrets import seeded

ROOT = Path(__file__).parents[3]
FOUND = (
    Examined("disk", Mark.OK, "12.0 GiB free at /var/lib/zombie"),
    Examined("PagerDuty key", Mark.NOT_SET, "no PAGERDUTY_API_TOKEN"),
    Examined("Slack scopes", Mark.WRONG, "missing: users:read " * 8, "Add it under “OAuth & Permissions”. " * 4),
)


def test_text_is_a_line_each_with_what_to_do_below_and_the_sum_last() -> None:
    text = examination_text(FOUND)
    lines = text.splitlines()
    assert lines[0] == "ok      disk                   12.0 GiB free at /var/lib/zombie"
    assert lines[1] == "not set PagerDuty key          no PAGERDUTY_API_TOKEN"
    assert lines[2].startswith("WRONG   Slack scopes           missing: users:read")
    assert any("→ Add it under" in line for line in lines)
    assert lines[-1] == "1 of 3 are wrong."
    assert max(map(len, lines)) <= 80
    assert examination_text(FOUND[:2]).endswith("\nAll is well.\n")
    assert "\x1b[" not in text
    assert "\x1b[1;31m" in examination_text(FOUND, colour=True)


def test_document_says_whether_all_is_well() -> None:
    told = json.loads(examination_document(FOUND))
    assert (told["schema"], told["well"]) == (1, False)
    assert [one["mark"] for one in told["examined"]] == ["ok", "not set", "wrong"]
    assert all_well(FOUND[:2])


def test_what_was_seen_is_made_safe_and_holds_no_secret() -> None:
    for one in seeded(3):
        found = (Examined(f"a\x1b[31m {one.text}", Mark.WRONG, one.text, one.text),)
        for text in (examination_text(found, 400), examination_document(found)):
            assert "\x1b" not in text
            assert [word for word in one.hidden if word in text.replace("\n", "")] == [], one.kind


def test_scopes_that_are_looked_for_are_the_manifests() -> None:
    manifest = yaml.safe_load((ROOT / "docs" / "slack-manifest.yaml").read_text())
    assert sorted(SCOPES) == manifest["oauth_config"]["scopes"]["bot"]
