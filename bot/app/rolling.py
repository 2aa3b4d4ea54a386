"""Puts together rolling captures for a terminal command, with the record that outlives it."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bot.app.check import PROGRAM
from bot.app.parts import incident_id, nonce, now, ssh_scripts, ssh_transport
from bot.domain.case import CaseStore
from bot.domain.contracts import ActingLedger
from bot.domain.rolling import Places
from bot.response.capture.ring_access import RingAccess
from bot.response.capture.rolling_control import RollingControl, RollingLimits
from bot.response.capture.rolling_watch import Keep, RollingWatch
from bot.response.capture.sketches import Sketches
from bot.response.record import unheard
from bot.settings import Settings


def rolling_control(settings: Settings, ledger: ActingLedger, environment: Mapping[str, str]) -> RollingControl:
    """Return the roller, with the limits of the settings."""
    access = RingAccess(ssh_transport(environment), ssh_scripts(environment), nonce, Places())
    said = settings.capture
    limits = RollingLimits(said.at_once, said.most_hours, said.a_day)
    return RollingControl(access, ledger, limits, now, incident_id)


def watch(control: RollingControl, cases: CaseStore) -> RollingWatch:
    """Return the watch over captures for a terminal; it stores sketches of what was caught."""
    return RollingWatch(control, Sketches(cases, now, PROGRAM, unheard))


@contextmanager
def kept_in(folder: Path | None) -> Iterator[tuple[Keep, Callable[[], list[Path]]]]:
    """Write perf's text as gzip files of a folder; return the function that takes it, and a list of the files."""
    with ExitStack() as opened:
        files: dict[str, gzip.GzipFile] = {}

        def keep(name: str, text: bytes) -> None:
            if folder is None:
                return
            if name not in files:
                files[name] = opened.enter_context(gzip.open(folder / name, "wb", compresslevel=1))
            files[name].write(text)

        yield keep, lambda: [folder / name for name in files] if folder is not None else []
