"""Units of simulated nodes: their states, counters and journal tell one story."""

from dataclasses import replace

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART, HIDDEN, STOPPED
from bot.demo.machine import systemd
from bot.demo.machine.state import State, Unit
from tests.unit.demo.machine.moments import moment


def ecs(state: State) -> Unit:
    return next(unit for unit in state.units if unit.name == "ecs.service")


def told(state: State, after: float = 0.0) -> dict[str, str]:
    return systemd.properties(state, ecs(state), moment(state, after))


def test_looping_unit_waits_and_runs_and_counts() -> None:
    seen = [told(AUTO_RESTART, after) for after in (0.0, 9.0, 11.2)]
    assert {one["SubState"] for one in seen} == {"auto-restart", "running"}
    assert int(seen[2]["NRestarts"]) == int(seen[0]["NRestarts"]) + 1
    assert (seen[0]["ActiveState"], seen[0]["ExecMainStatus"], seen[0]["RestartUSec"]) == ("activating", "5", "10s")


def test_hidden_loop_shows_a_healthy_unit() -> None:
    one = told(HIDDEN)
    assert (one["ActiveState"], one["SubState"], one["NRestarts"], one["Result"]) == (
        "active",
        "running",
        "0",
        "success",
    )


def test_stopped_unit_is_failed_with_exit_status_5_and_old_systemd_counts_no_restarts() -> None:
    one = told(STOPPED)
    assert (one["ActiveState"], one["Result"], one["ExecMainCode"], one["ExecMainStatus"]) == (
        "failed", "exit-code", "1", "5",
    )  # fmt: skip
    assert "NRestarts" not in one


def test_journal_counts_as_the_unit_does() -> None:
    now = moment(AUTO_RESTART)
    lines = systemd.restarts(AUTO_RESTART, now, now.uptime - 3600)
    assert len(lines) == pytest.approx(3600 / 11.2, abs=1)
    assert lines[-1][2] == (
        f"ecs.service: Scheduled restart job, restart counter is at {told(AUTO_RESTART)['NRestarts']}."
    )


def test_show_prints_systemds_order_and_an_empty_line_between_units() -> None:
    text = systemd.show(AUTO_RESTART, moment(AUTO_RESTART), ["SubState", "Id", "NRestarts"], [], ["*.service"])
    blocks = text.split("\n\n")
    assert len(blocks) == len(AUTO_RESTART.units)
    assert [line.partition("=")[0] for line in blocks[0].splitlines()] == ["NRestarts", "Id", "SubState"]


def test_states_choose_units_by_active_or_sub_state() -> None:
    now = moment(STOPPED)
    failed = systemd.show(STOPPED, now, ["Id"], ["failed"], ["*.service"])
    assert failed == "Id=ecs.service\n"
    assert systemd.listed(STOPPED, now, ("failed",)).split() == [
        "ecs.service", "loaded", "failed", "failed", *ecs(STOPPED).description.split(),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("usec", "text"), [(0, "0"), (100_000, "100ms"), (10_000_000, "10s"), (90_500_000, "1min 30s 500ms")]
)
def test_spans_are_printed_as_systemd_prints_them(usec: int, text: str) -> None:
    assert systemd.span(usec) == text


def test_alias_finds_its_unit() -> None:
    answer = systemd.systemctl(AUTO_RESTART, moment(AUTO_RESTART), ["systemctl", "is-active", "sshd"])
    assert (answer.stdout, answer.status) == (b"active\n", 0)


def test_changing_commands_are_refused() -> None:
    unit = replace(ecs(AUTO_RESTART), name="x.service")
    state = replace(AUTO_RESTART, units=(unit,))
    answer = systemd.systemctl(state, moment(state), ["systemctl", "disable", "x.service"])
    assert (answer.stdout, answer.status) == (b"", 1)
