"""The unit under which the kernel itself counts the dying cgroups: what is one, and which look counts."""

import pytest

from bot.causes import _leaker
from bot.probes.cgroups import CgroupsReading
from tests.unit.causes import builders as b

DYING = 7_612
ECS = "system.slice/ecs.service"


def below(figures: dict[str, int], rose: int = 0) -> CgroupsReading:
    """A v2 node whose kernel counts below these; all that rose did so below each of them."""
    first = {path: figure - rose for path, figure in figures.items()}
    return b.cgroups(DYING - rose, DYING, "v2", 36, dying_below=first, dying_below_later=figures)


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        (ECS, "ecs.service"),
        ("own.service", "own.service"),
        ("own.service/task", "own.service"),
        ("system.slice/_cpu.service", "cpu.service"),
        (r"system.slice/a\x2db@1.service", r"a\x2db@1.service"),
        ("system.slice/odd name.service", ""),
        ("lxc.payload.web/ecs.service", ""),
        ("machine.slice/web.scope", ""),
        ("kubepods.slice/odd.service", ""),
        (".service", ""),
        ("", ""),
    ],
)
def test_only_a_name_that_systemd_allows_below_slices_is_a_unit(path: str, unit: str) -> None:
    largest = _leaker.largest_share(below({path: DYING}), DYING, 0.5)
    assert largest is not None
    assert largest.unit == unit


def test_later_look_counts_and_one_look_gives_no_growth() -> None:
    moved = below({ECS: 7_000}, 500)
    largest = _leaker.largest_share(moved, DYING, 0.5)
    assert largest is not None
    assert (largest.dying, largest.growth) == (7_000, 500)
    gone = b.cgroups(DYING, mode="v2", dying_below={ECS: 7_000})
    assert _leaker.largest_share(gone, DYING, 0.5) is None
    once = CgroupsReading("v2", DYING, 36, "c", dying_below={ECS: 7_700})
    largest = _leaker.largest_share(once, DYING, 0.5)
    assert largest is not None
    assert (largest.dying, largest.of, largest.growth) == (7_700, 7_700, None)
    assert _leaker.largest_share(b.cgroups(DYING), DYING, 0.5) is None, "nothing told below is no zero"
