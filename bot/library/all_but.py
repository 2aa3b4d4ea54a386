"""What a playbook takes without naming it: with `all_but`, every other probe and cause of the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.domain.cause import Cause
from bot.domain.playbook import Playbook, WeighedCause
from bot.domain.probe import Probe
from bot.domain.verdict import Status
from bot.library.shapes import PlaybookShape


@dataclass(frozen=True, slots=True)
class AllBut:
    """The probes and causes that are taken too.

    Shape: `left_out` are the names in `all_but`; `named` are the probes and causes that the playbook, or the one that
    it extends, names.
    """

    left_out: frozenset[str]
    named: frozenset[str]

    @classmethod
    def of(cls, shape: PlaybookShape, parent: Playbook | None) -> AllBut | None:
        """Return what the playbook takes without naming it, None if it takes only what it names."""
        if shape.all_but is None:
            return None
        named = {*(shape.probes or ()), *(shape.causes or ())}
        if parent is not None and shape.probes is None:
            named |= {probe.name for probe in parent.probes}
        if parent is not None and shape.causes is None:
            named |= {used.cause.name for used in parent.causes}
        return cls(frozenset(shape.all_but), frozenset(named))

    def probes(self, known: Mapping[str, Probe]) -> dict[str, Probe]:
        """Return the probes that are taken, in the order of the program's list."""
        return {name: probe for name, probe in known.items() if name not in self.left_out | self.named}

    def causes(self, known: Mapping[str, Cause], probes: Mapping[str, Probe]) -> dict[str, Cause]:
        """Return the causes that are taken, in the order of the program's list: those whose probes are all asked."""
        rest = {name: cause for name, cause in known.items() if name not in self.left_out | self.named}
        return {name: cause for name, cause in rest.items() if probes.keys() >= set(cause.probes)}

    def must_read(self, causes: Sequence[WeighedCause]) -> Iterator[str]:
        """Yield what has to be read for causes that can be critical, where probe or cause was not named.

        The playbook's own `must_read` cannot name what its author did not know.
        """
        for used in causes:
            if used.cause.worst is Status.CRITICAL:
                yield from (name for name in used.cause.probes if not {name, used.cause.name} <= self.named)
