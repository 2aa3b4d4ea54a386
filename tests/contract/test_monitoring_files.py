"""The shipped rules, receiver and dashboard ask for metrics that exist, in queries that Prometheus takes."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import timedelta
from typing import Any

import pytest
import yaml

from bot.actions import ACTIONS
from bot.domain.duration import parse_duration
from bot.domain.transitions import State
from bot.extras.marks.store import MarkCounts
from bot.extras.waves.store import WaveCounts
from bot.extras.waves.wave import WaveState
from bot.surfaces.metrics import STEP_OUTCOMES, Metrics
from tests.conftest import missing
from tests.monitoring.dashboards import DASHBOARD, DOCS, RULES, of_dashboard, of_rules
from tests.monitoring.exporters import COMMON, KNOWN, ON_REQUEST
from tests.monitoring.promql import selectors

OURS = set(Metrics("1", ACTIONS, {**MarkCounts.gauges, **WaveCounts.gauges}).names)
PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"}
WORDS: dict[str, set[str]] = {  # the values that labels of ours may have
    "state": {state.value for state in (*State, *WaveState)},
    "outcome": set(STEP_OUTCOMES),
    "action": set(ACTIONS),
    "said": {"right", "wrong"},
}
CONFIG = yaml.safe_load(RULES.read_text())
RULE_LIST: list[dict[str, Any]] = [rule for group in CONFIG["groups"] for rule in group["rules"]]
RECORDED = {rule["record"] for rule in RULE_LIST if "record" in rule}
FIRING = [rule for rule in RULE_LIST if rule.get("labels", {}).get("zombie") == "check"]


@pytest.mark.parametrize(("what", "query"), [*of_rules(), *of_dashboard()])
def test_query_asks_for_series_that_exist(what: str, query: str) -> None:
    found = selectors(query)
    assert found, f"{what} asks for nothing"
    for one in found:
        assert one.name in {*KNOWN, *OURS, *PROCESS, *RECORDED}, f"{what}: there is no {one.name}"
        for label, operator, value in one.matchers:
            known = KNOWN.get(one.name, set()) | COMMON | WORDS.keys()
            assert label in known, f"{what}: {one.name} has no label {label}"
            if one.name in OURS and label in WORDS and operator in ("=", "=~"):
                assert set(value.split("|")) <= WORDS[label], f"{what}: {label} is never {value}"


def test_dashboard_shows_every_metric_of_ours() -> None:
    shown = {one.name for _, query in of_dashboard() for one in selectors(query)}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in OURS}
    assert families - {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown} == set()


def test_every_metric_is_documented_and_nothing_else() -> None:
    text = (DOCS / "metrics.md").read_text()
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in OURS}
    assert set(re.findall(r"`(zombie_\w+)(?:\{[^`]*\})?`", text)) == families
    assert all(f"`{name}`" in text for name in PROCESS)
    assert DASHBOARD.name in text
    assert RULES.name in text


def test_every_rule_is_whole() -> None:
    names = [rule.get("alert") or rule.get("record") for rule in RULE_LIST]
    assert len(set(names)) == len(names)
    for rule in RULE_LIST:
        assert set(rule) <= {"alert", "record", "expr", "for", "labels", "annotations"}, rule
        if "alert" in rule:
            assert rule["annotations"]["summary"], rule
            assert rule["labels"]["severity"] in ("info", "warning", "critical"), rule
            assert parse_duration(rule.get("for", "1s")) <= timedelta(hours=4), rule


def test_alert_that_fires_the_bot_names_its_node() -> None:
    assert len(FIRING) > 10
    for rule in FIRING:
        assert "{{ $labels.instance }}" in rule["annotations"]["summary"]
        grouped = re.findall(r"by \(([^)]*)\)", rule["expr"])
        assert all("instance" in labels for labels in grouped), f"{rule['alert']} loses its node"


def test_alert_on_the_bot_does_not_fire_the_bot() -> None:
    for rule in RULE_LIST:
        is_of_bot = any(one.name in OURS for one in selectors(rule["expr"]))
        assert not (is_of_bot and rule in FIRING), rule


def test_collector_that_is_off_by_default_is_named_where_it_is_needed() -> None:
    text = RULES.read_text()
    needed = {ON_REQUEST[one.name][0] for _, query in of_rules() for one in selectors(query) if one.name in ON_REQUEST}
    assert needed == {"cgroups", "systemd", "ethtool"}
    assert all(f"--collector.{name}" in text for name in needed)


def test_receiver_takes_the_alerts_that_fire_the_bot() -> None:
    config = yaml.safe_load((DOCS / "alertmanager-receiver.yaml").read_text())
    (route,) = config["route"]["routes"]
    label, value = re.fullmatch(r'(\w+) = "(\w+)"', route["matchers"][0]).groups()  # type: ignore[union-attr]
    assert all(rule["labels"][label] == value for rule in FIRING)
    assert route["continue"], "whoever is called now is still called"
    receivers = {one["name"]: one for one in config["receivers"]}
    assert {config["route"]["receiver"], route["receiver"]} <= receivers.keys()
    (hook,) = receivers[route["receiver"]]["webhook_configs"]
    assert hook["url"].endswith("/alertmanager")
    assert hook["http_config"]["authorization"]["type"] == "Bearer"


@pytest.mark.parametrize("pattern", re.findall(r"^\s*#\s+/(.+)/ \{", RULES.read_text(), re.MULTILINE))
def test_pattern_for_the_log_is_one(pattern: str) -> None:
    re.compile(pattern)


@pytest.mark.parametrize(
    "line",
    [
        "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time since last napi 6596000 usec.",
        "ena 0000:00:05.0 eth0: Trigger reset is on",
        "NETDEV WATCHDOG: eth0 (ena): transmit queue 3 timed out",
        "eth0: NETDEV WATCHDOG: CPU: 56: transmit queue 11 timed out 5340 ms",
        "watchdog: BUG: soft lockup - CPU#39 stuck for 23s! [kubelet:1234]",
    ],
)
def test_log_line_is_caught_by_one_of_the_patterns_with_its_device(line: str) -> None:
    patterns = [re.compile(one) for one in re.findall(r"/([^/\n]*\\[^/\n]*)/ \{", RULES.read_text())]
    found = [match for pattern in patterns if (match := pattern.search(line))]
    assert found
    assert all(match.groupdict().get("device", "eth0") == "eth0" for match in found)


def test_promtool_takes_the_rules() -> None:
    promtool = shutil.which("promtool") or missing("promtool is not installed (Debian: apt install prometheus)")
    done = subprocess.run([promtool, "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
