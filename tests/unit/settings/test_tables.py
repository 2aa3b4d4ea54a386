"""What stands in the tables of zombie.toml becomes values of their types, and what is left out has its default."""

import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from bot.causes import CAUSES
from bot.domain.allowance import CHECKS_PER_PERSON, Allowance
from bot.domain.defaults import NOT_REBOOTED_AGAIN_WITHIN
from bot.domain.errors import SettingsError
from bot.settings import Settings
from bot.sources.grafana import GrafanaSettings
from bot.sources.pagerduty_settings import PagerDutySettings
from tests.unit.settings.test_settings import HOME, load

WHOLE = """\
inventory = "nodes.toml"
[slack]
channels = ["C1"]
alerts_channel = "C2"
checks_per_person = "5/1h"
[policy]
approvers = ["U1"]
approver_groups = ["S1"]
terminal_approvers = ["alice=U123"]
askers = ["U1", "S1"]
self_approval = false
approval_expires = "15m"
acting = true
cooldown = "30m"
stale_after = "15m"
[act]
units = ["ecs.service"]
validation = "10m"
reboot_deadline = "15m"
max_nodes_at_once = 1
per_hour = 5
percent = 10
[ssh.act]
user = "zombie-act"
key = "~/.ssh/act"
[[route]]
match = { source = "pagerduty", service = "gpu" }
playbook = "zombie-cgroups"
mode = "remedies"
[[route]]
channel = "C3"
[pagerduty]
subscription = "P1"
watch_every = "60s"
relist_every = "30s"
poll = false
poll_every = "30s"
node_paths = ["details.host"]
node_patterns = ["node-[0-9]+"]
[grafana]
timestamp_header = "X-Time"
window = "5m"
[storm]
alerts = 20
window = "5m"
"""


def test_tables_are_values_of_their_types(tmp_path: Path) -> None:
    settings = load(tmp_path, WHOLE)
    assert (set(settings.slack.channels), settings.slack.alerts_channel) == ({"C1"}, "C2")
    assert settings.slack.checks_per_person == Allowance(5, timedelta(hours=1))
    assert settings.policy.askers == {"U1", "S1"}
    everybody = load(tmp_path, '[policy]\naskers = "members"\n')
    assert (everybody.policy.askers, everybody.slack.checks_per_person) == (frozenset(), CHECKS_PER_PERSON)
    assert (set(settings.policy.approvers), dict(settings.policy.terminal_approvers)) == ({"U1"}, {"alice": "U123"})
    assert (settings.policy.cooldown, settings.policy.acting) == (timedelta(minutes=30), True)
    assert (set(settings.act.units), settings.act.per_hour, settings.act.percent) == ({"ecs.service"}, 5, 10)
    assert (settings.acting_login.user, settings.acting_login.key) == ("zombie-act", HOME / ".ssh" / "act")
    assert [route.mode for route in settings.routes] == ["remedies", "remedies"]
    assert dict(settings.routes[0].match) == {"source": "pagerduty", "service": "gpu"}
    assert (settings.routes[1].channel, settings.routes[1].playbook) == ("C3", "")
    pagerduty = settings.of(PagerDutySettings)
    assert (pagerduty.subscription, pagerduty.watch_every) == ("P1", timedelta(minutes=1))
    assert [pattern.pattern for pattern in pagerduty.node_patterns] == ["node-[0-9]+"]
    assert settings.of(GrafanaSettings).timestamp_header == "X-Time"
    assert (settings.storm.alerts, settings.storm.window) == (20, timedelta(minutes=5))
    assert settings.written == tomllib.loads(WHOLE)


def test_what_a_file_leaves_out_has_its_default(tmp_path: Path) -> None:
    assert (
        load(tmp_path, "[slack]\n[policy]\n[act]\n[storm]\n[pagerduty]\n[ssh.act]\n").members == load(tmp_path).members
    )
    empty, nothing = load(tmp_path, "[slack]\n[policy]\n[act]\n[storm]\n[ssh.act]\n"), Settings()
    for table in ("slack", "policy", "act", "storm", "acting_login", "routes"):
        assert getattr(empty, table) == getattr(nothing, table)
    assert _written(nothing) == set(), "no default is only there once a file is read"


def _written(settings: Settings) -> set[str]:
    """What is written in a file's tables."""
    return {name for name, written, _ in settings.in_tables() if written is not None}


def test_record_is_kept_for_ever_unless_said_and_never_too_short(tmp_path: Path) -> None:
    kept = load(tmp_path, "").retention
    assert (kept.incidents, kept.deliveries) == (None, timedelta(days=30))
    assert load(tmp_path, '[retention]\nincidents = "1000d"\n').retention.incidents == timedelta(days=1000)
    assert kept.readings is None
    assert load(tmp_path, '[retention]\nreadings = "9d"\n').retention.readings == timedelta(days=9)
    for key in ("incidents", "readings", "deliveries"):
        with pytest.raises(SettingsError, match=f'{key} should be at least "2d"'):
            load(tmp_path, f'[retention]\n{key} = "1d"\n')


def test_record_that_forgets_a_reboot_before_it_may_be_offered_again_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r'toml:2: retention.incidents should be at least "30d": some reboots'
    ) as no:
        load(tmp_path, '[retention]\nincidents = "29d"\n')
    assert "zombie.toml" in str(no.value)
    assert load(tmp_path, '[retention]\nincidents = "30d"\n').retention.incidents == NOT_REBOOTED_AGAIN_WITHIN


def test_no_cause_waits_longer_with_a_reboot_than_the_record_has_to_reach_back() -> None:
    waits = [cause.reboot_lasts for cause in CAUSES.values() if cause.reboot_lasts is not None]
    assert waits
    assert max(waits) <= NOT_REBOOTED_AGAIN_WITHIN
