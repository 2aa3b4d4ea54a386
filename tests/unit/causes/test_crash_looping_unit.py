"""What starts over and over: what is seen, what is only history, and what may be disabled."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.containers import ContainersReading
from bot.probes.formats.container_lists import Container
from bot.probes.formats.systemctl import FailedUnit
from bot.probes.units import UnitsReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, steps, undecided

LOOP = "crash-looping-unit"
FAILED = "failed-units"
# Running, and started again 30 s ago; the uptime is 11.25 days.
FRESH = round((b.DAYS * 86_400 - 30) * 1e6)


def test_counter_that_rises_between_the_looks_is_the_proof() -> None:
    finding = found(LOOP, b.units(b.unit("x.service", 9_007, 9_008)))
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.CONFIRMED)
    assert (finding.suspects, steps(finding)) == (("x.service",), [("disable_unit", "x.service")])
    assert "NRestarts rose from 9,007 to 9,008" in finding.summary
    assert "NRestarts=9008" in finding.evidence[0].source


@pytest.mark.parametrize("look", ["sub", "sub_later"])
def test_unit_between_tries_with_tries_behind_it_loops(look: str) -> None:
    more: dict[str, Any] = {look: "auto-restart"}
    assert found(LOOP, b.units(b.unit("x.service", 3, **more))).confidence is Confidence.CONFIRMED
    once = found(LOOP, b.units(b.unit("x.service", 1, **more)))
    assert (once.confidence, once.remedy) == (Confidence.POSSIBLE, ())


def test_unit_between_tries_where_nothing_counts_is_likely() -> None:
    assert found(LOOP, b.units(b.between_tries("x.service", 0))).confidence is Confidence.POSSIBLE
    uncounted = b.unit("x.service", None, active="activating", sub="auto-restart")
    assert found(LOOP, b.units(uncounted, journal_read=False)).confidence is Confidence.LIKELY


def test_slow_loop_is_told_by_its_history() -> None:
    finding = found(LOOP, b.units(b.unit("x.service", 9_259, started_usec=FRESH)))
    assert (finding.confidence, steps(finding)) == (Confidence.LIKELY, [("disable_unit", "x.service")])
    assert "keeps looping: it was restarted 9,259 times" in finding.summary


def test_service_that_crashed_in_the_past_and_runs_well_is_left_alone() -> None:
    day_two = 2 * 86_400_000_000
    ruled_out(LOOP, b.units(b.unit("x.service", 9_259, started_usec=day_two)))
    ruled_out(LOOP, b.units(b.unit("x.service", 19, started_usec=FRESH)))


def test_persons_restart_and_a_timers_job_are_no_loops() -> None:
    by_hand = b.unit("x.service", 0, started_usec=FRESH - 9_000_000, started_usec_later=FRESH, restart="always")
    ruled_out(LOOP, b.units(by_hand))
    job = b.unit("x.service", None, started_usec=FRESH - 9_000_000, started_usec_later=FRESH, restart="no")
    ruled_out(LOOP, b.units(job))
    uncounted = b.unit("x.service", None, started_usec=FRESH - 9_000_000, started_usec_later=FRESH, restart="always")
    assert found(LOOP, b.units(uncounted)).suspects == ("x.service",)


def test_poller_that_ends_well_is_no_loop_and_one_that_fails_is() -> None:
    poller: dict[str, Any] = {"restart": "always", "result": "success", "exit_code": 1, "exit_status": 0}
    ruled_out(LOOP, b.units(b.between_tries("poll.service", 12_000, **poller)))
    for failing in ({"result": "exit-code", "exit_status": 1}, {"restart": "on-failure"}):
        finding = found(LOOP, b.units(b.between_tries("poll.service", 12_000, **{**poller, **failing})))
        assert steps(finding) == [("disable_unit", "poll.service")]


def test_unit_that_is_always_started_again_is_disabled_only_where_a_run_is_seen_to_fail() -> None:
    unseen = found(LOOP, b.units(b.unit("x.service", 70_000, 70_001, restart="always")))
    assert (unseen.confidence, unseen.remedy) == (Confidence.LIKELY, ())
    assert "How its runs end was not seen" in unseen.summary
    seen = found(LOOP, b.units(b.unit("x.service", 70_000, 70_001, restart="always", result="signal")))
    assert (seen.confidence, steps(seen)) == (Confidence.CONFIRMED, [("disable_unit", "x.service")])


def test_restarts_between_looks_of_a_slow_node_are_counted_by_the_time_between_them() -> None:
    """Seven in 5 s are more than one a second, which no poller does; seven in 40 s are not."""
    unit = b.unit("x.service", 70_000, 70_007, restart="always")
    assert "was not seen" not in found(LOOP, b.units(unit, seconds_between=5.0)).summary
    assert "How its runs end was not seen" in found(LOOP, b.units(unit, seconds_between=40.0)).summary


@pytest.mark.parametrize(("restarts", "is_loop"), [(200, False), (400, True)])
def test_runs_of_an_hour_are_a_schedule(restarts: int, is_loop: bool) -> None:
    unit = b.unit("report.service", restarts, started_usec=FRESH)
    evaluated = found(LOOP, b.units(unit)) if is_loop else ruled_out(LOOP, b.units(unit))
    assert evaluated.cause == LOOP


def test_journal_stands_in_for_a_counter() -> None:
    logged: dict[str, Any] = {"restarts_logged": 300, "restarts_logged_over": timedelta(hours=1), "started_usec": FRESH}
    finding = found(LOOP, b.units(b.unit("x.service", None, **logged)))
    assert "its journal shows 300 restarts within 60 minutes" in finding.summary
    assert finding.confidence is Confidence.LIKELY


@pytest.mark.parametrize("name", ["kubelet.service", "containerd.service", "sshd.service"])
def test_node_cannot_work_without_these(name: str) -> None:
    looping = found(LOOP, UnitsReading(True, (b.between_tries(name, 40),)))
    assert (looping.status, looping.remedy) == (Status.CRITICAL, ())
    assert f"{name} is protected" in looping.summary
    failed = found(FAILED, UnitsReading(True, (), (FailedUnit(name, "", f"{name} loaded failed failed"),)))
    assert (failed.status, failed.remedy) == (Status.CRITICAL, ())


def test_several_that_loop_are_one_finding_and_the_gravest_names_it() -> None:
    units = UnitsReading(True, (b.between_tries("x.service", 40), b.between_tries("kubelet.service", 4)))
    finding = found(LOOP, units)
    assert finding.suspects == ("kubelet.service", "x.service")
    assert finding.summary.endswith("(and 1 more that keep restarting)")
    assert len(finding.evidence) == 2


@pytest.mark.parametrize(("state", "action"), [("static", "mask_unit"), ("enabled", "disable_unit")])
def test_unit_is_masked_where_disabling_does_nothing(state: str, action: str) -> None:
    assert steps(found(LOOP, b.units(b.between_tries("x.service", 40_000, enabled=state)))) == [(action, "x.service")]


def test_unit_that_a_socket_or_timer_starts_is_masked() -> None:
    finding = found(LOOP, b.units(b.between_tries("x.service", 40_000, triggered_by=("x.timer",))))
    assert steps(finding) == [("mask_unit", "x.service")]


@pytest.mark.parametrize(
    ("file", "state", "is_masked"),
    [
        ("/usr/lib/systemd/system/x.service", "static", True),
        ("/etc/systemd/system/x.service", "static", False),  # systemctl mask: "File … already exists."
        ("/etc/systemd/system/x.service", "masked", True),
        ("/run/systemd/generator/x.service", "generated", True),
    ],
)
def test_unit_whose_own_file_is_where_a_mask_would_be_is_not_masked(file: str, state: str, is_masked: bool) -> None:
    finding = found(LOOP, b.units(b.between_tries("x.service", 40_000, enabled=state, fragment=file)))
    assert steps(finding) == ([("mask_unit", "x.service")] if is_masked else [])
    assert ("cannot be masked" in finding.summary) is not is_masked


def test_agents_container_that_is_replaced_names_the_unit_that_hides_it() -> None:
    finding = found(LOOP, b.units(b.unit()), b.churning(), b.agents(b.agent()))
    assert (finding.suspects, finding.confidence) == (("ecs.service",), Confidence.CONFIRMED)
    assert steps(finding) == [("disable_unit", "ecs.service")]
    needed = found(LOOP, b.units(b.unit()), b.churning(), b.agents(b.agent(used=True)))
    assert (needed.suspects, needed.remedy) == (("ecs.service",), ())


def test_registry_and_tag_do_not_hide_an_agents_image() -> None:
    image = "public.ecr.aws/amazon/amazon-ecs-agent:v1.86"
    reading = b.containers(b.container("b", 9, image), later=[b.container("c", 2, image)])
    assert found(LOOP, b.units(b.unit()), reading, b.agents(b.agent())).suspects == ("ecs.service",)


def test_agent_that_merely_started_lately_does_not_loop() -> None:
    same = b.containers(b.container("bbbb", 20), later=[b.container("bbbb", 25)])
    ruled_out(LOOP, b.units(b.unit()), same, b.agents(b.agent()))
    found(LOOP, b.units(b.unit()), same, b.agents(b.agent(log_exits=12)))


def test_jobs_that_come_and_go_are_no_loop_however_often() -> None:
    first, second = b.container("j1", 40, "ci/job:1"), b.container("j2", 2, "ci/job:1")
    often = {"exits_by_image": {"ci/job:1": 30}, "exits_over": timedelta(minutes=10)}
    ruled_out(LOOP, b.containers(first, later=[second], **often))
    ruled_out(LOOP, b.containers(first, later=[first, second], **often))


def test_tasks_of_an_agents_image_do_not_make_the_hosts_own_service_a_loop() -> None:
    image = "public.ecr.aws/aws-observability/aws-for-fluent-bit:stable"

    def task(number: int, seconds: float) -> Container:
        name = f"ecs-shop-7-log_router-{number:016x}"
        return Container(f"t{number}", image, name, age=timedelta(seconds=seconds), source=name)

    looks = ContainersReading(
        ("docker",), (task(1, 40), task(2, 20)), (task(2, 25), task(3, 1)), {image: 30}, timedelta(minutes=10)
    )
    ruled_out(LOOP, looks, b.units(b.unit("fluent-bit.service")), b.agents())


@pytest.mark.parametrize("probe", ["units", "containers"])
def test_loops_are_not_ruled_out_by_what_was_not_read(probe: str) -> None:
    assert not undecided(LOOP, b.unread(probe)).suspected


def test_runtime_that_refused_keeps_loops_undecided() -> None:
    assert "permission" in undecided(LOOP, b.containers(refused={"docker": "permission denied"})).because


def test_old_systemd_without_a_journal_leaves_loops_undecided() -> None:
    assert "does not count" in undecided(LOOP, b.units(b.unit("x.service", None), journal_read=False)).because


def test_node_without_systemd_has_no_such_units() -> None:
    ruled_out(LOOP, UnitsReading(False))
    ruled_out(FAILED, UnitsReading(False))


def test_counter_of_one_look_alone_leaves_the_start_times_to_tell() -> None:
    times = {"started_usec": FRESH - 9_000_000, "started_usec_later": FRESH}
    assert found(LOOP, b.units(replace(b.unit("x.service", 7, **times), restarts_later=None))).suspects == (
        "x.service",
    )


def test_counted_services_need_no_journal_to_be_ruled_out() -> None:
    ruled_out(LOOP, b.units(b.unit("x.service", 0), journal_read=False))


def test_loop_by_history_is_told_without_the_uptime_too() -> None:
    finding = found(LOOP, b.units(b.unit("x.service", 9_259, started_usec=FRESH)), b.unread("host"))
    assert finding.confidence is Confidence.LIKELY


def test_first_try_is_told_without_a_word_on_remedies() -> None:
    once = found(LOOP, b.units(b.unit("kubelet.service", 1, sub="auto-restart")))
    assert (once.status, "protected" in once.summary) == (Status.DEGRADED, False)


def test_agent_that_only_ends_often_is_likely_and_told_by_the_runtime() -> None:
    often = b.containers(exits_by_image={b.AGENT_IMAGE: 40}, exits_over=timedelta(minutes=10))
    finding = found(LOOP, b.units(b.unit()), often, b.agents(b.agent()))
    assert (finding.confidence, finding.evidence[0].probe) == (Confidence.LIKELY, "containers")
