"""An agent whose own log tells of a failed run seconds ago loops now; an old log, or one in use, tells nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.verdict import Confidence, Finding
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, steps

LEAK = "leaked-memory-cgroups"
DYING = 7_612
NOW = b.host("6.1.0-28", days=0.02, node_time_at=datetime(2026, 11, 21, 17, 44, 40, tzinfo=UTC))
FRESH = "2026-11-21T17:44:31Z"


def judged(at: str = FRESH, *readings: Any, grew: int = 1_228, **more: Any) -> Finding:
    agent = b.agents(b.agent(**{"used": None, "log_exits": 40, "log_last_at": at, **more}))
    return found(LEAK, b.cgroups(DYING, DYING + grew), NOW, b.units(b.unit()), agent, *readings)


@pytest.mark.parametrize("used", [None, False])
def test_agent_whose_log_fails_now_is_looked_at_while_the_count_grows_and_not_blamed(used: bool | None) -> None:
    finding = judged(used=used)
    assert (finding.suspects, finding.confidence) == (("ecs.service",), Confidence.LIKELY)
    assert finding.remedy == (), "forty runs did not leave thousands"
    assert f"its own log shows 40 failed runs, the last at {FRESH}, 9 s before the look" in finding.evidence[1].says


def test_agent_whose_log_tells_of_as_many_runs_is_the_leaker() -> None:
    finding = judged(log_exits=8_800)
    assert (finding.suspects, finding.confidence) == (("ecs.service",), Confidence.CONFIRMED)
    assert steps(finding) == [("disable_unit", "ecs.service")]


@pytest.mark.parametrize(
    "at",
    [
        "2026-11-21T17:43:40Z",  # a turn ago, to the second
        "2026-11-21T18:44:31+01:00",
        "2026-11-21 12:44:31.250-0500",
        "2026-11-21T17:44:42Z",  # written between the clock's reading and the log's
    ],
)
def test_fresh_is_fresh_in_any_zone_that_is_named(at: str) -> None:
    assert judged(at).suspects == ("ecs.service",)


@pytest.mark.parametrize(
    "at",
    [
        "2026-11-21T17:43:39Z",
        "2026-11-20T17:44:31Z",
        "2026-11-21T18:44:31Z",  # another zone's time under this one's name
        "2026-11-21T17:44:31",  # whose time that is, nobody says
        "2026-11-21 17:44:31",
        "2026-11-21T17:44:31+01:00",
        "2026-11-21T99:44:31Z",
        "0001-01-01T00:00:00+14:00",
        "yesterday",
        "",
    ],
)
def test_log_that_is_old_or_whose_time_cannot_be_told_is_no_sign_that_it_goes_on(at: str) -> None:
    finding = judged(at)
    assert (finding.suspects, finding.remedy, finding.confidence) == ((), (), Confidence.LIKELY)


def test_clock_that_was_not_read_makes_nothing_fresh() -> None:
    agent = b.agents(b.agent(used=None, log_exits=40, log_last_at=FRESH))
    many = found(LEAK, b.cgroups(70_000, 71_228), b.unread("host"), b.units(b.unit()), agent)
    assert (many.suspects, many.remedy) == ((), ())
    assert judged(FRESH, b.host()).suspects == ()


def test_agent_in_use_is_never_named_for_its_log() -> None:
    assert judged(used=True).suspects == ()
    ended = b.containers(exits_by_image={b.AGENT_IMAGE: 30}, exits_over=timedelta(hours=1))
    assert judged(FRESH, ended, used=True).suspects == ()


def test_few_failed_runs_are_no_loop() -> None:
    assert judged(log_exits=9).suspects == ()


def test_agent_whose_container_runs_steadily_fails_no_more() -> None:
    assert judged(FRESH, b.containers(b.container("bbbb", 900))).suspects == ()


def test_agent_that_has_stopped_does_not_go_on() -> None:
    assert judged(FRESH, b.units(b.stopped()), active="failed").suspects == ()


def test_log_alone_names_nobody_while_the_count_stands_still() -> None:
    assert judged(grew=4).suspects == ()


def test_another_that_loops_too_leaves_it_open() -> None:
    other = b.units(b.unit(), b.between_tries("backup.service", 30))
    assert judged(FRESH, other).confidence is Confidence.LIKELY
    assert set(judged(FRESH, other).suspects) == {"backup.service", "ecs.service"}
    assert set(judged(FRESH, other, used=False).suspects) == {"backup.service", "ecs.service"}


def test_agent_that_fails_now_and_holds_the_bulk_does_not_run_well_whatever_systemd_says() -> None:
    below = {"system.slice/ecs.service": 8_800}
    counted = b.cgroups(DYING, DYING + 1_228, "v2", 36, dying_below=below, dying_below_later=below)
    finding = judged(FRESH, counted)
    assert steps(finding) == [("disable_unit", "ecs.service")]
    assert "8,800 of the 8,840 dying are under ecs.service" in finding.evidence[1].says
    assert "9 s before the look" in finding.evidence[1].says
