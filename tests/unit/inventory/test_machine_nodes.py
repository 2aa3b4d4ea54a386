"""What a cloud lists becomes nodes only as far as it can be true; a listing on disk stands in, or says its age."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.domain.machine_listing import CannotList, Listing, Machine, Place
from bot.domain.node import Node
from bot.inventory.kind import TableNodes
from bot.inventory.listing_cache import GONE_FOR, ListingCache
from bot.inventory.machine_nodes import labels_of, nodes_of_listings

PLACE = Place("cloud", "here", {})
NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)


def machine(name: str, tag: str) -> Machine:
    return Machine(name, {"private_ip": "10.0.0.1"}, {"Name": tag})


def known(*machines: Machine, gone: tuple[Machine, ...] = ()) -> TableNodes:
    def name_of(found: Machine) -> str:
        return found.tags["Name"]

    listing = Listing(PLACE, machines, NOW, gone)
    return nodes_of_listings([listing], "Cloud", name_of, lambda found, _: Node("", found.facts["private_ip"]))


def test_machine_that_stands_on_two_pages_is_one_machine_and_keeps_its_name() -> None:
    listed = known(machine("i-1", "gpu-1"), machine("i-2", "gpu-2"), machine("i-1", "gpu-1"), machine("i-1", "gpu-9"))
    assert [node.name for node in listed.nodes] == ["gpu-1", "gpu-2"]
    assert listed.listings[0].count == 2


def test_names_that_differ_in_case_alone_are_neither_machines() -> None:
    listed = known(machine("i-1", "gpu-1"), machine("i-2", "GPU-1"))
    assert [node.name for node in listed.nodes] == ["i-1", "i-2"]


def test_place_that_lists_nothing_any_more_is_told_and_a_place_that_never_had_any_is_not() -> None:
    left = (machine("i-1", "gpu-1"), machine("i-2", "gpu-2"))
    assert known(gone=left).listings[0].complaint == "it lists nothing now, and listed 2 machines within seven days"
    assert known().listings[0].complaint == ""
    assert known(machine("i-3", "gpu-3"), gone=left).listings[0].complaint == ""


def test_tags_become_labels_without_their_secrets() -> None:
    long = "x" * 105
    tags = {"team": "ray", "deploy": f"{long} glpat-AbCdEfGhIjKlMnOpQrSt", "db_password": "hunter2hunter2"}
    without = {"team": "ray", "deploy": f"{long} [redacted: token]", "db_password": "[redacted]"}
    assert labels_of(Machine("i-1", {}, tags), {"az": "here"}) == without | {"az": "here"}


CACHED = Place("cloud", "here", {"filters": {"a": ["b"]}})
FRESH = timedelta(minutes=5)


@dataclass(slots=True)
class Cloud:
    """A place that lists what it is told to list, and its clock."""

    cache: ListingCache = field(init=False)
    machines: list[str] = field(default_factory=lambda: ["a", "b"])
    at: datetime = datetime(2026, 11, 22, 3, tzinfo=UTC)
    asked: int = 0
    fails: str = ""

    def listed(self, place: Place) -> Sequence[Machine]:
        self.asked += 1
        found = [Machine(name, {"private_ip": "10.0.0.1"}, {"Name": name}) for name in self.machines]
        if self.fails:
            raise CannotList(self.fails, found)
        return found

    def names(self, place: Place = CACHED) -> list[str]:
        return [machine.id for machine in self.cache.of([place], FRESH)[0].machines]


def cloud(folder: Path) -> Cloud:
    made = Cloud()
    made.cache = ListingCache(folder / "kept", {"cloud": made.listed}, lambda: made.at)
    return made


def test_what_is_fresh_is_not_asked_for_again_and_what_is_old_is(tmp_path: Path) -> None:
    here = cloud(tmp_path)
    assert here.names() == ["a", "b"]
    here.machines = ["a", "c"]
    here.at += FRESH - timedelta(seconds=1)
    assert (here.names(), here.asked) == (["a", "b"], 1)
    here.at += timedelta(seconds=1)
    assert (here.names(), here.asked) == (["a", "c"], 2)


def test_other_filters_are_another_listing(tmp_path: Path) -> None:
    here = cloud(tmp_path)
    here.names()
    here.names(Place("cloud", "here", {"filters": {}}))
    assert here.asked == 2


def test_a_listing_from_the_future_is_not_fresh(tmp_path: Path) -> None:
    here = cloud(tmp_path)
    here.names()
    here.at -= timedelta(hours=1)
    here.names()
    assert here.asked == 2


def test_a_listing_that_broke_off_drops_nobody_and_says_why(tmp_path: Path) -> None:
    here = cloud(tmp_path)
    here.names()
    here.machines, here.fails = ["b"], "throttled"
    here.at += timedelta(hours=1)
    (listing,) = here.cache.of([CACHED], FRESH)
    assert [machine.id for machine in listing.machines] == ["a", "b"]
    assert listing.complaint == "throttled"
    assert listing.read_at == here.at - timedelta(hours=1)


def test_where_nothing_was_kept_what_came_is_taken(tmp_path: Path) -> None:
    here = cloud(tmp_path)
    here.fails = "throttled"
    (listing,) = here.cache.of([CACHED], FRESH)
    assert len(listing.machines) == 2
    assert listing.read_at is None


def test_who_left_is_remembered_for_a_week_and_forgotten_when_back(tmp_path: Path) -> None:
    here = cloud(tmp_path)
    here.names()
    here.machines = ["b"]
    here.at += FRESH
    here.names()
    here.at += FRESH
    (listing,) = here.cache.of([CACHED], FRESH)
    assert [machine.id for machine in listing.gone] == ["a"]
    here.at += GONE_FOR - FRESH  # since it was missed first
    here.names()
    assert here.cache.of([CACHED], FRESH)[0].gone == ()
    here.machines = ["a", "b"]
    here.at += FRESH
    assert here.cache.of([CACHED], FRESH)[0].gone == ()


def test_a_damaged_file_is_as_none_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    here = cloud(tmp_path)
    here.names()
    (path,) = (tmp_path / "kept").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    for damaged in (b"", b"{}", b"[]", b'{"read_at": 1}', path.read_bytes()[:-20], b'{"machines": [1]}', b"\xff"):
        path.write_bytes(damaged)
        before = here.asked
        assert here.names() == ["a", "b"]
        assert here.asked == before + 1


def test_a_place_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    here, hangs = cloud(tmp_path), threading.Event()

    def hanging(place: Place) -> Sequence[Machine]:
        hangs.wait(20)
        return ()

    cache = ListingCache(
        tmp_path, {"cloud": here.listed, "stuck": hanging}, lambda: here.at, patience=timedelta(milliseconds=300)
    )
    stuck, well = cache.of([Place("stuck", "x"), CACHED], FRESH)
    hangs.set()
    assert "did not list its machines within 0.3 s" in stuck.complaint
    assert len(well.machines) == 2
