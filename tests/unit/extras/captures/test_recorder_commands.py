"""Rolling captures: what can be asked for, which rights that takes, and how they stand on record."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.extras.captures.capture_fold import NEVER_BEGAN, RollingState, captures_of
from bot.extras.captures.events import (
    CaptureApproved,
    CaptureAsked,
    CaptureBegan,
    CaptureEnded,
    CaptureStarting,
    SymptomCaught,
)
from bot.extras.captures.recorder_commands import (
    FOLDER,
    HOURS,
    RollingRequest,
    hours_of,
    is_capture_id,
    minutes_of,
    rolling_rights,
    start_argv,
)
from bot.extras.captures.words import line
from bot.response.execution.sudoers import capture_sudoers_text
from tests.known import known
from tests.record.incidents import BEGAN_AT, entries

ASKED = CaptureAsked("abc1234567", "node-7", 12, 2, ("nic-reset",), False, "ann")
STARTING = CaptureStarting("abc1234567", "b", "m", "key", 100.0, "cycles")
CAUGHT = SymptomCaught("abc1234567", "nic-reset", BEGAN_AT, 400.25, "core 39 ran f")


@pytest.mark.parametrize(
    "text",
    [
        "7h",
        "12",
        "-1h",
    ],
)
def test_other_hours_are_refused_naming_those_that_are(text: str) -> None:
    with pytest.raises(ValueError, match="1, 6, 12 or 24"):
        hours_of(text)


def test_other_segments_and_symptoms_are_refused_naming_those_that_are() -> None:
    with pytest.raises(ValueError, match="1 or 2 minutes"):
        minutes_of("3m")
    with pytest.raises(ValueError, match="nic-reset, lockup, core-held"):
        RollingRequest(around=("oom",))


def test_every_way_to_start_one_has_its_right_and_ends_by_itself() -> None:
    rights = {way[4:] for way in rolling_rights()}
    for hours in HOURS:
        for event in ("cycles", "cpu-clock"):
            for systemd in (219, 235, 236, 255):
                argv = start_argv(RollingRequest(hours), event, systemd)
                assert argv in rights
                assert argv[-2:] == ("sleep", str(hours * 3600))
                assert str(hours * 3600 + 60) in argv, "a second deadline around perf"


def test_a_property_stands_there_only_where_systemd_has_it() -> None:
    old, new = (" ".join(start_argv(RollingRequest(), "cycles", systemd)) for systemd in (219, 252))
    assert "MemoryLimit=" in old
    assert not {"MemoryMax", "RuntimeMaxSec", "--collect"} & set(old.replace("=", " ").split())
    assert "MemoryMax=" in new
    assert "RuntimeMaxSec=" in new
    assert "--scope" not in old + new


def test_its_lines_are_exact_and_touch_one_folder() -> None:
    lines = [line for line in capture_sudoers_text("zombie", rolling_rights()).splitlines() if "zombie-capture" in line]
    assert len(lines) == len({*lines}) > 30
    assert not [line for line in lines if "*" in line]
    removing = [line for line in lines if " -rf " in line]
    assert removing
    assert all(line.endswith(f" -rf {FOLDER}") for line in removing)


def test_ids_are_plain() -> None:
    assert is_capture_id("abc1234567")
    assert not is_capture_id("../x")


def test_a_capture_is_a_fold_of_its_entries() -> None:
    told = entries((ASKED, STARTING, CaptureBegan("abc1234567", 101_000_000), CAUGHT, CAUGHT), "house")
    rolling = captures_of(told)["abc1234567"]
    assert rolling.state is RollingState.RUNNING
    assert rolling.request == RollingRequest(12, 2, ("nic-reset",))
    assert rolling.since_usec == 101_000_000
    assert len(rolling.caught) == 1, "two programs that saw the same put it down once"
    held = [replace(CAUGHT, symptom="core-held", core=core) for core in (39, 12, 39, -1)]
    cores = captures_of(entries((ASKED, STARTING, *held), "house"))["abc1234567"].caught
    assert [caught.core for caught in cores] == [39, 12], "an older program names no core"
    assert not rolling.is_over
    assert rolling.until == known(rolling.started_at) + timedelta(hours=12)


def test_what_is_over_stays_over() -> None:
    told = entries((ASKED, STARTING, CaptureEnded("abc1234567", "ann stopped it"), STARTING, CAUGHT), "house")
    rolling = captures_of(told)["abc1234567"]
    assert rolling.is_over
    assert rolling.caught == (CAUGHT,), "another program saw it, and had no chance to tell before"


def test_one_of_an_older_record_that_waits_for_a_yes_is_over_and_says_so() -> None:
    asked = CaptureAsked("abc1234567", "node-7", 12, 2, (), True)
    (rolling,) = captures_of(entries((asked,), "house")).values()
    assert rolling.is_over
    assert "ended: it waited for another person's yes, which captures no longer need" in line(rolling)


def test_what_an_older_program_did_with_one_that_waited_still_counts() -> None:
    asked, agreed = CaptureAsked("abc1234567", "node-7", 12, 2, (), True), CaptureApproved("abc1234567")
    (rolling,) = captures_of(entries((asked, agreed), "house")).values()
    assert rolling.ended == CaptureEnded("abc1234567", NEVER_BEGAN)
    (rolling,) = captures_of(entries((asked, agreed, STARTING), "house")).values()
    assert (rolling.state, rolling.is_over) == (RollingState.STARTING, False)
    (rolling,) = captures_of(entries((asked, CaptureEnded("abc1234567", "bob declined it")), "house")).values()
    assert known(rolling.ended).because == "bob declined it"


def test_what_nobody_asked_for_and_what_a_newer_program_wrote_is_left_out() -> None:
    newer = CaptureAsked("new1234567", "node-7", 48, 2)
    assert captures_of(entries((STARTING, newer), "house")) == {}
