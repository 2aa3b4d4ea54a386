"""What perf saw the hottest core do: a check does not ask this; a capture adds it to a snapshot.

A capture costs the node more than a check may (perf records for seconds), so it is made only on request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

from bot.domain.command import Completed, Outputs
from bot.domain.errors import CannotRead
from bot.domain.json_form import NotOfForm, read, to_json_types
from bot.domain.playbook import Playbook
from bot.domain.probe import Probe

MEMCG_WALK = "memcg-walk"  # the signature of a walk over all memory cgroups


@dataclass(frozen=True, slots=True)
class ProfileReading:
    """The function that the hottest core was in most often.

    Shape: `core` None if the text named none; `signature` and `does` come from the table of known functions, empty for
    an unknown function; `under` are its callers, innermost first; `has_names` False if the kernel hid its function
    names. Everything is safe to show.
    Units: `share_of_core` from 0 to 1, of all samples of that core.
    """

    probe: ClassVar[str] = "profile"

    core: int | None
    process: str
    pid: int
    function: str
    share_of_core: float
    samples: int
    seconds: float
    signature: str = ""
    does: str = ""
    under: tuple[str, ...] = ()
    has_names: bool = True

    @property
    def says(self) -> str:
        """Describe what was seen."""
        where = "the node" if self.core is None else f"core {self.core}"
        what = f"perf saw {where} in {self.function} for {self.share_of_core:.0%} of {self.samples:,} samples"
        meant = f", which {self.does}" if self.does else ""
        return f"{what}, run by {self.process} (pid {self.pid}){meant}"

    @property
    def source(self) -> tuple[str, ...]:
        """The stack as perf printed it, innermost first."""
        return (self.function, *self.under[:5])


def profile_to_json(reading: ProfileReading) -> str:
    """Return a reading as the ledger and cases store it: a line of JSON."""
    return json.dumps(to_json_types(reading), sort_keys=True)


def parse(outputs: Outputs) -> ProfileReading:
    """Return the stored reading.

    Raises: CannotRead when there is none, or it is malformed.
    """
    try:
        return read(ProfileReading, json.loads(outputs.text(PERF)))
    except (NotOfForm, ValueError, RecursionError) as error:
        raise CannotRead("the stored profile cannot be read") from error


PERF = "perf"
PROFILE = Probe(
    name=ProfileReading.probe,
    title="What perf saw the hottest core do, where somebody asked for a profile",
    commands=(),
    parse=parse,
    reading=ProfileReading,
)


def as_run(text: str) -> Completed:
    """Return a stored profile as a case's run; `text` comes from `profile_to_json`."""
    return Completed(PROFILE.name, PERF, 0, text)


def profiled(playbook: Playbook, *runs: Completed) -> Playbook:
    """Return the playbook with the profile among its readings; without runs, the same playbook."""
    own = tuple(run for run in runs if run.probe == PROFILE.name and run.stdout)
    others = tuple(probe for probe in playbook.probes if probe.name != PROFILE.name)
    return replace(playbook, probes=(*others, replace(PROFILE, told=own))) if own else playbook
