"""What is counted, from which lines of the log, and what a scraper is told."""

from __future__ import annotations

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.domain.verdict import Status
from bot.extras.waves.events import TurnOutcome
from bot.extras.waves.store import WaveCounts
from bot.extras.waves.wave import WaveState
from bot.ledger.ledger_counts import Gauged
from bot.surfaces.metrics import Metrics

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(metrics: Metrics, now: Gauged | None = None) -> Samples:
    text, _ = metrics.exposition(now or {})
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def counted(name: str, found: Samples, **labels: str) -> float:
    return found[name, tuple(sorted(labels.items()))]


def test_reading_is_counted_by_its_status_and_timed() -> None:
    metrics = Metrics("1.2.3")
    metrics.heard("checked", {"node": "node-1", "status": "critical", "cause": "x", "took_seconds": 5.4})
    found = samples(metrics)
    assert counted("zombie_checks_total", found, status="critical") == 1
    assert counted("zombie_check_seconds_count", found) == 1
    assert counted("zombie_check_seconds_bucket", found, le="5.0") == 0
    assert counted("zombie_check_seconds_bucket", found, le="6.0") == 1
    assert counted("zombie_build_info", found, version="1.2.3") == 1


def test_what_has_not_happened_yet_stands_at_nothing() -> None:
    found = samples(Metrics("1", ["reboot"]))
    assert {counted("zombie_checks_total", found, status=status.value) for status in Status} == {0}
    assert counted("zombie_actions_total", found, action="reboot", outcome="failed") == 0


def test_sources_are_counted_by_what_came_of_them() -> None:
    metrics = Metrics("1")
    metrics.counted("pagerduty", "accepted", 0.004)
    metrics.counted("pagerduty", "repeated", 0.2)
    found = samples(metrics)
    assert counted("zombie_webhooks_total", found, source="pagerduty", outcome="repeated") == 1
    assert counted("zombie_ack_seconds_bucket", found, le="0.1") == 1
    assert counted("zombie_ack_seconds_count", found) == 2


def test_step_and_verdict_are_counted_as_the_log_tells_them() -> None:
    metrics = Metrics("1")
    metrics.heard("step_ended", {"incident": "i", "action": "reboot", "outcome": "verified", "step": 2})
    metrics.heard("judged", {"incident": "i", "status": "critical", "after_seconds": 7.0})
    found = samples(metrics)
    assert counted("zombie_actions_total", found, action="reboot", outcome="verified") == 1
    assert counted("zombie_verdict_seconds_bucket", found, le="7.5") == 1


def test_sweep_is_counted_with_its_nodes_and_what_its_digest_told() -> None:
    metrics = Metrics("1")
    nodes = {"asked": 40, "answered": 36, "unknown": 1, "unreachable": 3, "seconds": 4.2}
    metrics.heard("swept", {"sweep": "role=gpu", "kind": "asked", **nodes, "whole": False})
    metrics.heard("swept", {"kind": "scheduled", **nodes, "whole": True, "new": 2, "nearer": 1, "told": True})
    metrics.heard("swept", {"kind": "scheduled", **nodes, "whole": True, "new": 5, "nearer": 5, "told": False})
    found = samples(metrics)
    assert counted("zombie_sweeps_total", found, kind="asked", ended="broken-off") == 1
    assert counted("zombie_sweeps_total", found, kind="scheduled", ended="whole") == 2
    assert counted("zombie_sweeps_total", found, kind="asked", ended="whole") == 0
    assert counted("zombie_sweep_nodes_total", found, came="unreachable") == 9
    assert counted("zombie_sweep_seconds_bucket", found, le="5.0") == 3
    told = [counted("zombie_sweep_news_total", found, what=what) for what in ("new", "nearer")]
    assert told == [2, 1], "what waits for the morning is not told yet"


@pytest.mark.parametrize("event", ["slack_failed", "ledger_unavailable", "lease_lost", "delivery_refused"])
def test_trouble_is_counted_by_its_event(event: str) -> None:
    metrics = Metrics("1")
    metrics.heard(event, {"error": "x"})
    metrics.heard("listening", {"address": "x"})
    assert counted("zombie_trouble_total", samples(metrics), event=event) == 1
    assert sum(value for (name, _), value in samples(metrics).items() if name == "zombie_trouble_total") == 1


def test_events_that_a_bug_makes_up_do_not_fill_the_scraper() -> None:
    metrics = Metrics("1")
    for number in range(500):
        metrics.heard(f"node_{number}_failed", {})
    assert sum(1 for name, _ in samples(metrics) if name == "zombie_trouble_total") == 100


def test_waves_are_told_by_state_and_their_turns_by_what_came_of_them() -> None:
    metrics = Metrics("1", of_extras=WaveCounts.gauges)
    none: dict[tuple[str, ...], float] = {(state.value,): 0.0 for state in WaveState}
    before = samples(metrics, {"zombie_waves": none})
    assert {counted("zombie_wave_turns_total", before, outcome=outcome.value) for outcome in TurnOutcome} == {0}
    assert {counted("zombie_waves", before, state=state.value) for state in WaveState} == {0}
    for change in ({"change": "TurnGiven"}, *[{"change": "TurnEnded", "outcome": "cured"}] * 2):
        metrics.heard("wave", {"wave": "wave-abcd", **change})
    found = samples(metrics, {"zombie_waves": none | {("stopped",): 1.0}})
    assert counted("zombie_wave_turns_total", found, outcome="cured") == 2
    assert counted("zombie_waves", found, state="stopped") == 1
    assert not [name for name, _ in samples(metrics) if name == "zombie_waves"], "not asked is not none"


def test_gauges_have_the_figures_of_the_moment_and_their_labels() -> None:
    metrics = Metrics("1")
    samples(metrics, {"zombie_incidents_by_cause": {("leak", "resolved"): 3.0}, "zombie_ready": {(): 0.0}})
    now: Gauged = {"zombie_incidents_by_cause": {("leak", "escalated"): 1.0}, "zombie_ready": {(): 1.0}}
    found = samples(metrics, now)
    assert counted("zombie_incidents_by_cause", found, cause="leak", state="escalated") == 1
    assert sum(1 for name, _ in found if name == "zombie_incidents_by_cause") == 1
    assert counted("zombie_ready", found) == 1


def test_record_that_cannot_be_asked_is_not_an_empty_one() -> None:
    metrics = Metrics("1")
    samples(metrics, {"zombie_incidents": {("resolved",): 3.0}, "zombie_queue_depth": {(): 4.0}})
    found = samples(metrics, {"zombie_ready": {(): 1.0}})
    assert math.isnan(counted("zombie_queue_depth", found))
    assert not [name for name, _ in found if name.startswith("zombie_incidents")]


def test_scraper_is_given_the_format_it_asks_for() -> None:
    metrics = Metrics("1")
    plain, as_text = metrics.exposition({})
    open_metrics, as_open = metrics.exposition({}, "application/openmetrics-text; version=1.0.0")
    assert as_text.startswith("text/plain; version=")
    assert as_open.startswith("application/openmetrics-text")
    assert open_metrics.endswith(b"# EOF\n")
    assert b"_created" not in plain


def test_two_bots_in_one_process_count_apart() -> None:
    one, other = Metrics("1"), Metrics("1")
    one.heard("checked", {"status": "healthy", "took_seconds": 5})
    assert counted("zombie_checks_total", samples(other), status="healthy") == 0
