"""A real node on which rolling captures run: an sshd, units of the test's own, a perf, and a record."""

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.extras.captures.capture_control import RollingControl
from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch
from bot.extras.captures.recorder_commands import CapturePaths, RollingRequest, rolling_rights
from bot.extras.captures.ring_access import RingAccess
from bot.extras.captures.settings import CaptureSettings
from bot.extras.captures.store import CaptureStore
from bot.ledger import Database, Ledger
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
from bot.transport.ssh_script import SshScriptTransport
from tests.contract.ways import nonce
from tests.nodes import patient
from tests.nodes.sshd import Sshd
from tests.nodes.units import make_units

ANN = "terminal:ann"

# It records as perf does: a ring of files of which the last has no number; the text is what was put into `samples`.
FAKE = r"""#!/bin/sh
case $1 in
  version) echo "perf version 6.1.0";;
  record)
    [ "$2" = -h ] && { echo "--switch-max-files <n>"; exit 129; }
    for word; do case $word in --output=*) out=${word#--output=};; esac; done
    trap 'mv "$out" "$out.2026112200000099"; exit 0' TERM
    cp @SAMPLES@ "$out.2026112200000001" || exit 1; : >"$out"
    while :; do sleep 0.1; done;;
  script) cat "$3";;
esac
"""


class Patient(patient.Patient):
    """One with units of the test's own, too, and a record."""

    def __init__(self, sshd: Sshd, database: Database) -> None:
        self.samples, self.ring = sshd.folder / "samples", sshd.folder / "ring"
        self.samples.write_text("")
        run, ctl = make_units(sshd.folder)
        super().__init__(sshd, FAKE)
        self.places = CapturePaths(str(self.perf), str(run), (str(ctl),), str(self.ring))
        self.limits = CaptureSettings()
        self.ahead = timedelta()  # by how much our clock is ahead of the record
        self.database, self.ledger, self.store = database, Ledger(database), CaptureStore(database)
        self.ids = iter(f"capture{number:03}" for number in range(100))
        self.texts: dict[str, bytes] = {}

    def become(self, perf: str) -> None:
        super().become(perf.replace("@SAMPLES@", str(self.samples)))

    def allow(self, *more: str) -> None:
        """Give exactly the rights of captures."""
        self.give(rolling_rights(self.places), *more)

    def control(self, seconds: int = 0) -> RollingControl:
        """Another program each time: nothing but the record is kept."""
        keyring = Keyring(self.sshd.known_hosts)
        access = RingAccess(SshTransport(keyring, nonce), SshScriptTransport(keyring), nonce, self.places)
        ledger = self.store
        return RollingControl(
            access, ledger, self.limits, lambda: datetime.now(UTC) + self.ahead, lambda: next(self.ids), seconds
        )

    def start(self, *around: str, seconds: int = 0) -> str:
        request = RollingRequest(1, 1, around or ("nic-reset", "lockup"))
        return asyncio.run(self.control(seconds).ask(self.node, request, ANN)).id

    def show(self, capture: str) -> CaptureLookResult:
        async def looked() -> CaptureLookResult:
            control = self.control()
            return await RollingWatch(control).look(self.node, await control.find(capture), self.keep)

        return asyncio.run(looked())

    def stop(self, capture: str) -> CaptureLookResult:
        asyncio.run(self.stopped(capture))
        return self.show(capture)

    async def stopped(self, capture: str) -> None:
        control = self.control()
        await control.stop(self.node, await control.find(capture), ANN)

    @contextmanager
    def keep(self, name: str) -> Iterator[Callable[[bytes], object]]:
        yield (pieces := list[bytes]()).append
        self.texts[name] = b"".join(pieces)

    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.store.entries.now()]

    def plant(self, seconds: float, core: int = 39) -> None:
        """Put samples of a burst that began so long ago into what the recorder copies."""
        now = time.monotonic()
        at = now - seconds
        found = []
        while at < now:
            found.append(
                f"kubelet 77/78 [{core:03}] {at:.9f}: cycles/freq=49/: \n"
                "\tffffffff81000010 mem_cgroup_nr_lru_pages+0x10 ([kernel.kallsyms])\n\n"
            )
            at += 1 / 49
        self.samples.write_text("".join(found))

    def must_be_clean(self) -> None:
        super().must_be_clean()
        assert not self.ring.exists()


@contextmanager
def a_patient(folder: Path) -> Iterator[Patient]:
    """One of its own, of which nothing is left afterwards."""
    with Sshd() as sshd, Database.open(f"sqlite:///{folder}/record.db") as database:
        found = Patient(sshd, database)
        try:
            yield found
        finally:
            subprocess.run(["pkill", "-KILL", "-f", str(found.perf)], check=False)
