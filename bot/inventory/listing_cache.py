"""The last listing of each place, cached on disk: used while fresh, and, with its age, if the place is silent."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.domain.contracts import Clock
from bot.domain.machine_listing import MOST_MACHINES, CannotList, Lister, Listing, Machine, Place
from bot.domain.safe_text import one_line

PATIENCE = timedelta(seconds=30)  # for all places together
GONE_FOR = timedelta(days=7)  # how long a machine is remembered that is no longer listed
_LIMIT_BYTES = 128 * 1024 * 1024
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class ListingCache:
    """Listings by place, each in its own file in `folder`.

    Shape: `listers` by the kind of place; `now` is the clock. A damaged file counts as missing.
    """

    folder: Path
    listers: Mapping[str, Lister]
    now: Clock
    patience: timedelta = PATIENCE

    def of(self, places: Sequence[Place], fresh_for: timedelta) -> Sequence[Listing]:
        """Return a listing of each place: cached while fresh; all others are asked in parallel."""
        kept = {index: self._stored_listing(place) for index, place in enumerate(places)}
        now = self.now()
        old = [
            index
            for index, listing in kept.items()
            if listing.read_at is None or not timedelta(0) <= now - listing.read_at < fresh_for
        ]
        if old:
            pool = ThreadPoolExecutor(_AT_ONCE, "listing")
            asked = {index: pool.submit(self._ask_place, kept[index]) for index in old}
            wait(asked.values(), self.patience.total_seconds())
            pool.shutdown(wait=False, cancel_futures=True)
            for index, answer in asked.items():
                late = f"did not list its machines within {self.patience.total_seconds():g} s"
                kept[index] = answer.result() if answer.done() else replace(kept[index], complaint=late)
        return [kept[index] for index in range(len(places))]

    def _ask_place(self, before: Listing) -> Listing:
        place = before.place
        try:
            machines = tuple(self.listers[place.kind](place))
        except CannotList as error:
            # A partial listing is used only if there is no older listing, so that it drops no machine.
            some = before.machines or error.machines
            return replace(before, machines=some, complaint=one_line(error.sentence, 300))
        now, present = self.now(), {machine.id for machine in machines}
        missing = (machine for machine in (*before.machines, *before.gone) if machine.id not in present)
        gone = [replace(machine, gone_at=machine.gone_at or now) for machine in missing]
        found = Listing(place, machines, now, tuple(gone[:MOST_MACHINES]))
        stored = self._store_listing(found, now)
        return found if stored else replace(found, complaint="its listing cannot be kept on disk")

    def _path(self, place: Place) -> Path:
        query = json.dumps([place.kind, place.name, place.asked], sort_keys=True)
        return self.folder / f"{place.kind}-{hashlib.sha256(query.encode()).hexdigest()[:24]}.json"

    def _stored_listing(self, place: Place) -> Listing:
        try:
            with self._path(place).open("rb") as file:
                raw = file.read(_LIMIT_BYTES + 1)
            stored = json.loads(raw) if len(raw) <= _LIMIT_BYTES else {}
            read_at = datetime.fromisoformat(stored["read_at"])
            gone, since = map(_machine, stored["gone"]), self.now() - GONE_FOR
            still = tuple(machine for machine in gone if machine.gone_at is not None and machine.gone_at > since)
            return Listing(place, tuple(map(_machine, stored["machines"])), read_at, still)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Listing(place)

    def _store_listing(self, found: Listing, read_at: datetime) -> bool:
        """Replace the stored listing; False if the disk refuses it."""
        path = self._path(found.place)
        stored = {
            "place": [found.place.kind, found.place.name],
            "read_at": read_at.isoformat(),
            "machines": list(map(_row, found.machines)),
            "gone": list(map(_row, found.gone)),
        }
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside.write_text(json.dumps(stored), encoding="utf-8")
            beside.chmod(0o600)
            beside.replace(path)
        except OSError:
            return False
        return True


def _row(machine: Machine) -> dict[str, Any]:
    row = {"id": machine.id, "facts": dict(machine.facts), "tags": dict(machine.tags)}
    return row if machine.gone_at is None else {**row, "gone_at": machine.gone_at.isoformat()}


def _machine(row: Any) -> Machine:
    facts, tags = ({str(name): str(value) for name, value in row[part].items()} for part in ("facts", "tags"))
    return Machine(str(row["id"]), facts, tags, datetime.fromisoformat(row["gone_at"]) if "gone_at" in row else None)
