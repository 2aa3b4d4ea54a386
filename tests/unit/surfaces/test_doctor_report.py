"""An examination as people and scripts read it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from bot.domain.doctor_finding import DoctorFinding, Mark, all_well
from bot.domain.errors import SettingsError
from bot.domain.policy import Policy
from bot.settings import Settings
from bot.sources import settings_of
from bot.surfaces.doctor_report import examination_body, examination_text
from bot.surfaces.slack.examination import SCOPES
from bot.surfaces.slack.member import SURFACE
from bot.surfaces.slack.tokens import SlackTokens
from tests.readings.secrets import seeded

ROOT = Path(__file__).parents[3]
FOUND = (
    DoctorFinding("disk", Mark.OK, "12.0 GiB free at /var/lib/zombie"),
    DoctorFinding("PagerDuty key", Mark.NOT_SET, "no PAGERDUTY_API_TOKEN"),
    DoctorFinding("Slack scopes", Mark.WRONG, "missing: users:read " * 8, "Add it under “OAuth & Permissions”. " * 4),
)


def test_text_is_a_line_each_with_what_to_do_below_and_the_sum_last() -> None:
    text = examination_text(FOUND)
    lines = text.splitlines()
    assert lines[0] == "ok      disk                   12.0 GiB free at /var/lib/zombie"
    assert lines[1] == "not set PagerDuty key          no PAGERDUTY_API_TOKEN"
    assert lines[2].startswith("WRONG   Slack scopes           missing: users:read")
    assert any("→ Add it under" in line for line in lines)
    assert lines[-1] == "1 of 3 is wrong."
    assert max(map(len, lines)) <= 80
    assert examination_text(FOUND[:2]).endswith("\nAll is well.\n")
    noted = DoctorFinding("brake", Mark.NOTE, "on since 09:00 UTC")
    assert examination_text((FOUND[0], noted)).endswith("\nNothing is wrong; 1 note.\n")
    assert "\x1b[" not in text
    assert "\x1b[1;31m" in examination_text(FOUND, colour=True)


def test_document_says_whether_all_is_well() -> None:
    told = examination_body(FOUND)
    assert (told["schema"], told["well"]) == (1, False)
    assert [one["mark"] for one in told["examined"]] == ["ok", "not set", "wrong"]
    assert all_well(FOUND[:2])


def test_what_was_seen_is_made_safe_and_holds_no_secret() -> None:
    for one in seeded(3):
        found = (DoctorFinding(f"a\x1b[31m {one.text}", Mark.WRONG, one.text, one.text),)
        for text in (examination_text(found, 400), json.dumps(examination_body(found))):
            assert "\x1b" not in text
            assert [word for word in one.hidden if word in text.replace("\n", "")] == [], one.kind


def test_advice_keeps_the_examples_that_say_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as no:
        SlackTokens.of("", "", "", "")
    found = (DoctorFinding("Slack", Mark.WRONG, no.value.sentence, no.value.try_next),)
    assert "SLACK_BOT_TOKEN=xoxb-1234-… zombie serve" in examination_text(found, 400)
    assert "SLACK_BOT_TOKEN=xoxb-1234-…" in examination_body(found)["examined"][0]["to_do"]


async def test_slack_is_not_set_up_where_no_token_is_and_the_terminal_needs_none(tmp_path: Path) -> None:
    settings = Settings.load({}, {}, tmp_path, members=settings_of())
    ((name, look),) = SURFACE.looks(settings, Policy(), lambda: datetime.now(UTC))
    (found,) = await look()
    assert (name, found.mark) == ("Slack", Mark.NOT_SET)
    assert "terminal commands need none" in found.seen


def test_scopes_that_are_looked_for_are_the_manifests() -> None:
    manifest = yaml.safe_load((ROOT / "docs" / "slack-manifest.yaml").read_text())
    assert sorted(SCOPES) == manifest["oauth_config"]["scopes"]["bot"]
