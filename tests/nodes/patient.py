"""A real node with a perf of the test's own, and a login that may run it."""

import shlex
import subprocess
from collections.abc import Iterable, Sequence
from datetime import timedelta

from tests.contract.ways import files_of
from tests.nodes.sshd import Sshd
from tests.waiting import until


class Patient:
    """An OpenSSH server whose perf is a script, of which nothing may stay there."""

    def __init__(self, sshd: Sshd, perf: str) -> None:
        self.sshd, self.node = sshd, sshd.node
        self.perf = sshd.folder / "perf"
        self.become(perf)
        self.before = set(sshd.processes())

    def become(self, perf: str) -> None:
        """Have another perf."""
        self.perf.write_text(perf)
        self.perf.chmod(0o755)

    def give(self, rights: Iterable[Sequence[str]], *more: str) -> None:
        """Give the login exactly these rights."""
        lines = [*map(shlex.join, rights), *more]
        self.sshd.allow_sudo(*(line.replace("timeout", "/usr/bin/timeout", 1).replace("=", r"\=") for line in lines))

    def recording(self) -> str:
        """The recorder's process, nothing where none runs; what it starts for a moment is younger."""
        return subprocess.run(["pgrep", "-o", "-f", str(self.perf)], capture_output=True, text=True, check=False).stdout

    def must_be_clean(self) -> None:
        """Nothing runs that the login started, and no file of it is left."""
        until(lambda: not [pid for pid in self.sshd.processes() if pid not in self.before], what="the session's end")
        until(lambda: not self.recording(), within=timedelta(seconds=12), what="the end of the recorder")
        assert files_of(self.sshd.user) <= {self.sshd.home, *self.sshd.home.rglob("*")}
