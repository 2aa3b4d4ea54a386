"""What changed on a cured node is said in the words that people use, and nothing unread is said to be cured."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.causes import CAUSES
from bot.domain.events import Compared
from bot.domain.transitions import State
from bot.response.execution.watched_growth import WatchedGrowth
from bot.view.before_after import before_and_after, changes, missing_proof
from tests.known import known
from tests.record.incidents import WAYS
from tests.unit.surfaces.cards import shown, told, words

ROWS = (
    Compared("verdict", "critical leaked-memory-cgroups", "healthy"),
    Compared("dying memory cgroups", "68,440", "12"),
    Compared("busiest core in the kernel", "99 %", "2 %"),
    Compared("network device resets", "16", "not read"),
    Compared("ecs.service", "activating (auto-restart), enabled", "inactive (dead), disabled"),
    Compared("boot", "3b1c", "77aa"),
)


def test_zombies_core_resets_and_the_unit_are_said_in_plain_words_in_this_order() -> None:
    assert changes(before_and_after(ROWS[::-1])) == (
        ("dying memory cgroups", "68,440 → 12"),
        ("kernel time, busiest core", "99 % → 2 %"),
        ("network card resets", "16 → not read"),
        ("ecs.service", "is starting, starts at boot → stopped, does not start at boot"),
        ("boot", "the node was rebooted"),
    )


def test_unit_that_systemd_lists_no_more_does_not_run() -> None:
    ended = Compared("ecs.service", "activating (auto-restart), enabled", "at rest")
    assert changes(before_and_after((ended,))) == (("ecs.service", "is starting, starts at boot → not running"),)


def test_same_boot_and_a_boot_that_was_not_read_are_no_reboot() -> None:
    unread = "not read: it is not known whether the node was rebooted"
    for after, says in (("3b1c", "the same boot: the node was not rebooted"), ("not read", unread)):
        assert changes(before_and_after((Compared("boot", "3b1c", after),))) == (("boot", says),)


@pytest.mark.parametrize(
    ("before", "after", "pause", "says"),
    [
        ("20", "0", "1200 s", "none since the reboot, 20 min (20 in the whole boot before)"),
        (
            "20",
            "0",
            "5460 s",
            "none since the reboot; not yet proof, 20 min of 1 h 31 min watched (20 in the whole boot before)",
        ),
        ("20", "2", "5460 s", "2 since the reboot, 20 min (20 in the whole boot before)"),
        ("20", "0", "", "none since the reboot, 20 min (20 in the whole boot before)"),
        ("0", "0", "", "none since the reboot, 20 min (none in the whole boot before)"),
        ("20", "not read", "5460 s", "20 → not read"),
    ],
)
def test_resets_after_a_reboot_are_those_since_then_and_no_proof_before_the_longest_pause(
    before: str, after: str, pause: str, says: str
) -> None:
    rows = (
        Compared("network device resets", before, after),
        Compared("boot", "3b1c", "77aa"),
        Compared("longest time without a network device reset", pause, ""),
    )
    watched = before_and_after(rows, timedelta(minutes=20))
    assert changes(watched) == (("network card resets", says), ("boot", "the node was rebooted"))
    assert "proof" not in str(before_and_after(rows[:2], timedelta(minutes=20))), "an old record has no pause"


@pytest.mark.parametrize(
    ("before", "after", "boot", "pause", "says"),
    [
        ("20", "0", "77aa", "5460 s", "network card resets: none in 20 min, proof needs 1 h 31 min"),
        ("20", "20", "3b1c", "5460 s", "network card resets: none in 20 min, proof needs 1 h 31 min"),
        ("20", "0", "77aa", "1200 s", ""),
        ("20", "0", "77aa", "", ""),
        ("0", "0", "77aa", "", ""),
        ("20", "3", "77aa", "1200 s", "network card resets: 3 since the reboot"),
        ("20", "21", "3b1c", "1200 s", "network card resets: 20 → 21"),
        ("20", "not read", "77aa", "5460 s", "network card resets: not read"),
    ],
)
def test_cure_is_not_proven_by_resets_that_go_on_are_unread_or_were_not_awaited(
    before: str, after: str, boot: str, pause: str, says: str
) -> None:
    rows = (
        Compared("network device resets", before, after),
        Compared("boot", "3b1c", boot),
        Compared("longest time without a network device reset", pause, ""),
    )
    said, needs = missing_proof(rows, timedelta(minutes=20))
    assert (said, needs) == (says, timedelta(seconds=5460) if "proof" in says else None)


@pytest.mark.parametrize(
    ("watched", "pace", "says"),
    [
        (480, 0.07, ""),  # 34 would have come
        (80, 0.07, "dying memory cgroups: 3 more in 1 min 20 s, proof needs 4 min 46 s"),
        (480, 0.0125, "dying memory cgroups: 3 more in 8 min, proof needs 26 min 40 s"),
        (7200, 0.01, "dying memory cgroups: 3 more in 2 h"),  # as many come without a leak
        (480, None, ""),
    ],
)
def test_leak_is_not_proven_gone_before_its_old_pace_would_have_shown(
    watched: int, pace: float | None, says: str
) -> None:
    grows = known(CAUSES["leaked-memory-cgroups"].grows)
    growth = WatchedGrowth(grows, 3, 0, timedelta(seconds=watched), pace, timedelta(days=1))
    assert missing_proof((), timedelta(0), growth)[0] == says
    both = missing_proof((Compared("network device resets", "20", "not read"),), timedelta(0), growth)[0]
    assert both == "; ".join(filter(None, ("network card resets: not read", says)))


def test_resets_without_a_reboot_that_is_known_are_before_and_after() -> None:
    for boot in ("3b1c", "not read"):
        rows = (Compared("network device resets", "20", "20"), Compared("boot", "3b1c", boot))
        assert changes(before_and_after(rows))[0][1] == "20, as before"


def test_resolved_card_shows_what_changed_itself() -> None:
    card = shown(told(*WAYS[State.RESOLVED]))
    assert "memory cgroups:  text 68,700 → 260" in words(card)
