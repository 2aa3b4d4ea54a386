"""A real node on which rolling captures run: an sshd, units of the test's own, a perf, and a record."""

import asyncio
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.domain.node import Node
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
from tests.contract.ways import files_of, nonce
from tests.nodes.sshd import Sshd
from tests.nodes.units import make_units
from tests.waiting import until

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


class Patient:
    """A real node with units of the test's own, a perf of the test's own, and a record."""

    def __init__(self, sshd: Sshd, database: Database) -> None:
        self.sshd, folder = sshd, sshd.folder
        self.samples, self.perf = folder / "samples", folder / "perf"
        self.samples.write_text("")
        self.become(FAKE)
        run, ctl = make_units(folder)
        self.ring = folder / "ring"
        self.places = CapturePaths(str(self.perf), str(run), (str(ctl),), str(self.ring))
        self.node = Node("real", sshd.address, sshd.port, sshd.user, sshd.client_key)
        self.limits = CaptureSettings()
        self.ahead = timedelta()  # by how much our clock is ahead of the record
        self.database, self.ledger, self.store = database, Ledger(database), CaptureStore(database)
        self.ids = iter(f"capture{number:03}" for number in range(100))
        self.texts: dict[str, bytes] = {}
        self.before = set(sshd.processes())

    def become(self, perf: str) -> None:
        self.perf.write_text(perf.replace("@SAMPLES@", str(self.samples)))
        self.perf.chmod(0o755)

    def allow(self, *more: str) -> None:
        """Give exactly the rights of captures."""
        lines = [shlex.join(way) for way in rolling_rights(self.places)] + list(more)
        self.sshd.allow_sudo(*(line.replace("timeout", "/usr/bin/timeout", 1).replace("=", r"\=") for line in lines))

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

    def recording(self) -> str:
        """The recorder's process, nothing where none runs; what it starts for a moment is younger."""
        return subprocess.run(["pgrep", "-o", "-f", str(self.perf)], capture_output=True, text=True, check=False).stdout

    def must_be_clean(self) -> None:
        """Nothing runs that the login started, and no file of it, or of the ring, is left."""
        until(lambda: not [pid for pid in self.sshd.processes() if pid not in self.before], what="the session's end")
        until(lambda: not self.recording(), within=timedelta(seconds=12), what="the end of the recorder")
        assert not self.ring.exists()
        assert files_of(self.sshd.user) <= {self.sshd.home, *self.sshd.home.rglob("*")}


@contextmanager
def a_patient(folder: Path) -> Iterator[Patient]:
    """One of its own, of which nothing is left afterwards."""
    with Sshd() as sshd, Database.open(f"sqlite:///{folder}/record.db") as database:
        patient = Patient(sshd, database)
        try:
            yield patient
        finally:
            subprocess.run(["pkill", "-KILL", "-f", str(patient.perf)], check=False)
