"""A site's own units, codes and functions: added to ours, checked with file and line, and never in place of ours."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from bot.app.factories import library
from bot.domain import protected
from bot.domain.builtin_playbooks import SiteRows, builtin_rows
from bot.domain.errors import PlaybookError
from bot.probes.formats import functions as signatures
from bot.probes.formats import gpu_events
from bot.probes.formats.functions import own_signatures, signature_of
from bot.probes.formats.gpu_events import XidKind, own_meanings, xid
from bot.probes.formats.kernel_line import KernelEvent
from tests.known import known

UNITS = """[acme]
is = ["essential", "keeps-for-others", "makes-cgroups"]
names = ["acme-store", "acme-*"]
"""
XID = """[166]
kind = "fault"
name = "engine is gone"
action = "reset the GPU"
"""
FUNCTIONS = """[acme-walk]
functions = "acme_walk\\\\w*"
does = "walks our table"
seen = ["acme_walk_all", "acme_walk.isra.0"]
never = ["my_acme_walk"]
"""


_ADDED: tuple[SiteRows[Any], ...] = (
    protected.UNITS_OF_SITES,
    gpu_events.MEANINGS_OF_SITES,
    signatures.SIGNATURES_OF_SITES,
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "tables").mkdir()
    yield tmp_path
    for of_sites in _ADDED:
        of_sites.clear()


def written(folder: Path, name: str, text: str) -> Path:
    (folder / "tables" / f"{name}.toml").write_text(text)
    return folder


def xid_of(says: str) -> gpu_events.Xid:
    return known(xid(KernelEvent("gpu-error", f"NVRM: Xid (PCI:0000:3b:00): {says}")))


def test_units_of_a_site_are_guarded_like_ours(folder: Path) -> None:
    unit = ["acme-store@1.service"]
    assert not protected.is_protected(unit)
    ours = {
        what: protected.units(what) for what in (*protected.OF_SITES, "network", "guest", "kubelet", "never-started")
    }
    library([written(folder, "units", UNITS)])
    assert protected.is_protected(unit)
    assert protected.is_essential(unit)
    assert protected.makes_cgroups(unit)
    assert protected.data_pattern(unit) == "acme-store"
    assert all(protected.units(what)[: len(names)] == names for what, names in ours.items()), (
        "ours stay, and come first"
    )


def test_code_of_a_site_is_known_but_the_drivers_own_word_outranks_it(folder: Path) -> None:
    assert xid_of("166, pid=1, x").meaning == own_meanings()["unlisted"]
    library([written(folder, "xid", XID.replace("fault", "application"))])
    assert (xid_of("166, pid=1, x").meaning.kind, xid_of("166, x").meaning.name) == (
        XidKind.APPLICATION,
        "engine is gone",
    )
    assert xid_of("166, NETIR_LINK_EVT Fatal XC0").meaning == own_meanings()["unlisted-fatal"]
    assert xid_of("48, pid=1, DBE").meaning == own_meanings()["48"]


def test_function_of_a_site_is_known_after_ours(folder: Path) -> None:
    library([written(folder, "functions", FUNCTIONS.replace('= "acme_walk', '= "gc_worker|acme_walk', 1))])
    assert [row.name for row in signature_of(["acme_walk_all"]) if row] == ["acme-walk"]
    assert [row.name for row in signature_of(["gc_worker"]) if row] == ["conntrack"]
    assert [row.name for row in signature_of(["osq_lock", "acme_walk"]) if row] == ["lock-wait", "acme-walk"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("units", UNITS.replace("[acme]", "[agents]"), "units.toml:1: the agents are ours alone"),
        ("units", UNITS.replace('"essential"', '"network"'), 'units.toml:2: a unit of a site cannot be "network"'),
        ("units", UNITS.replace('"acme-*"', '"*"'), 'units.toml:3: "*" is no name of units'),
        ("xid", XID.replace("[166]", "[48]"), "xid.toml:1: 48 is ours, and none of ours is replaced"),
        ("xid", XID.replace("[166]", "[x1]"), 'xid.toml:1: "x1" is no code of an Xid'),
        ("xid", XID.replace('"fault"', '"fatal"'), 'xid.toml:2: kind is "fatal"'),
        (
            "functions",
            FUNCTIONS.replace("[acme-walk]", "[reclaim]"),
            'functions.toml:1: a row of ours is called "reclaim"',
        ),
        ("functions", FUNCTIONS.replace('"acme_walk\\\\w*"', "'(?<=a)b'"), "functions.toml:2: functions is not an RE2"),
        ("functions", FUNCTIONS.replace("acme_walk_all", "acme"), 'functions.toml:4: functions do not find "acme"'),
        ("functions", FUNCTIONS.replace("my_acme_walk", "acme_walks"), 'functions.toml:5: functions find "acme_walks"'),
    ],
)
def test_fault_is_told_with_its_line(folder: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(PlaybookError) as refused:
        library([written(folder, name, text)], strict=True)
    assert any(says in line for line in str(refused.value).splitlines()), str(refused.value)
    held = [("*", frozenset({"protected", "left-out"}))]  # what a row would protect is not known: no unit is stopped
    assert [*chain(*_ADDED)] == (held if name == "units" else [])


def test_each_row_of_ours_says_what_it_needs() -> None:
    assert all(meaning.name and meaning.action for meaning in own_meanings().values())
    assert all(name.isdigit() or name in _NAMED for name in own_meanings())
    assert {"is", "names"} == {key for name, row in protected.own_units().items() if name != "agents" for key in row}
    words = {"network", "guest", "kubelet", "packaged-kubelet", "never-started", *protected.OF_SITES}
    words |= {"asked-runtime", "asked-network", "serves-kubelets", "keeps-time", "eviction-at-5-percent"}
    assert {word for row in protected.own_units().values() for word in row.get("is", ())} == words


_NAMED = ("unified-memory", "unlisted", "unlisted-fatal", "switch-fatal", "switch")


def test_rows_of_functions_keep_their_seen_and_never() -> None:
    rows = builtin_rows("functions")
    for name, row in rows.items():
        assert row["seen"], name
        assert row["from"], name
        found = {each: [known.name for known in signature_of([each]) if known] for each in row["seen"]}
        assert found == {each: [name] for each in row["seen"]}
        assert all(name not in [known.name for known in signature_of([each]) if known] for each in row.get("never", ()))
    assert {ours.name for ours in own_signatures()} == rows.keys()
