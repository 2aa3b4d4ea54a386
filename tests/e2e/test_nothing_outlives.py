"""Whatever ends a diagnosis, within two seconds nothing that it started runs on the node."""

import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.contract.ways import files_of, promised
from tests.e2e import faulty_servers
from tests.nodes.sshd import IS_ROOT, SSHD, Sshd
from tests.program import Started
from tests.waiting import until

FAR = 40.0  # a deadline that does not matter
READER = "import sys; from tests.e2e.reader import main; main(*sys.argv[1:])"

real_sshd = [
    pytest.mark.real_sshd,
    pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt install openssh-server)"),
]


@pytest.fixture(params=[pytest.param("openssh", marks=real_sshd), "local"])
def patient(request: pytest.FixtureRequest) -> Iterator["Patient"]:
    if request.param == "local":
        yield Patient(None)
        return
    with Sshd() as node:
        yield Patient(node)
        if IS_ROOT:
            assert {path.name for path in files_of(node.user)} <= {node.home.name}


class Patient:
    """A node, real or this machine, and what a reader left running there."""

    def __init__(self, sshd: Sshd | None) -> None:
        self.sshd = sshd
        self.mark = f"{secrets.randbelow(900_000) + 100_000}"
        self._before = set(sshd.processes()) if sshd is not None else set()

    def where(self, port: int | None = None) -> list[str]:
        if self.sshd is None:
            return ["local"]
        sshd = self.sshd
        return [sshd.address, str(port or sshd.port), sshd.user, str(sshd.client_key), str(sshd.known_hosts)]

    def running(self) -> list[str]:
        """Everything of the session, the server's own processes for it included; by its mark on this machine."""
        if self.sshd is not None:
            return [_words(pid) for pid in self.sshd.processes() if pid not in self._before]
        every = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        return [words for pid in every if self.mark in (words := _words(pid))]

    @contextmanager
    def being_read(self, deadline: float = FAR, port: int | None = None) -> Iterator[Started]:
        """Start a reader, and wait until every stubborn command runs and the quick one has answered twice."""
        with Started(*self.where(port), self.mark, str(deadline), script=READER) as reader:
            assert [reader.stdout.readline() for _ in range(2)] == ["quick\n"] * 2
            until(lambda: sum(f"sleep {self.mark}" in words for words in self.running()) >= 7, what="the stubborn")
            yield reader

    def must_be_gone(self, seconds: float = 2.0, sshd_itself: bool = True) -> None:
        within = timedelta(seconds=promised(seconds) - 1)

        def gone() -> bool:
            return not [words for words in self.running() if sshd_itself or not words.startswith("sshd: ")]

        until(gone, within=within, what=f"the end of {self.running()}")


def _words(pid: int) -> str:
    try:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
            return ""
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_after_the_deadline(patient: Patient) -> None:
    with patient.being_read(deadline=4.0) as reader:
        assert reader.stdout.readline() == "ended\n"
        patient.must_be_gone()
        assert reader.wait(timeout=10) == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda how: how.name)
def test_after_the_reader_was_ended(patient: Patient, how: signal.Signals) -> None:
    """By Ctrl-C it can still say so; killed, as by any signal that it does not hear, it cannot."""
    with patient.being_read() as reader:
        reader.send_signal(how)
        patient.must_be_gone()
        assert reader.wait(timeout=10) != 0


@pytest.mark.parametrize("patient", [pytest.param("openssh", marks=real_sshd)], indirect=True)
def test_after_the_connection_was_cut(patient: Patient) -> None:
    assert patient.sshd is not None
    cut = faulty_servers.Cut()
    with faulty_servers.answering(cut.passing(patient.sshd.port)) as port:
        _trust(patient.sshd, port)
        with patient.being_read(port=port) as reader:
            cut.off()
            patient.must_be_gone()
            reader.wait(timeout=10)


@pytest.mark.parametrize("patient", [pytest.param("openssh", marks=real_sshd)], indirect=True)
def test_after_the_network_went_away_unsaid_the_deadline_counts_on_the_node_too(patient: Patient) -> None:
    assert patient.sshd is not None
    cut = faulty_servers.Cut()
    with faulty_servers.answering(cut.passing(patient.sshd.port)) as port:
        _trust(patient.sshd, port)
        with patient.being_read(deadline=5.0, port=port):
            cut.silently()
            patient.must_be_gone(seconds=5.0 + 2.0, sshd_itself=False)  # it has not heard yet


@pytest.mark.parametrize("patient", [pytest.param("openssh", marks=real_sshd)], indirect=True)
@pytest.mark.skipif(not IS_ROOT, reason="only root can give sudo rights")
def test_what_runs_as_root_ends_at_its_own_limit(patient: Patient) -> None:
    assert patient.sshd is not None
    patient.sshd.allow_sudo(f"/usr/bin/timeout -k 1 3 sleep {patient.mark}")
    script = f"sudo -n timeout -k 1 3 sleep {patient.mark}"
    with Started(*patient.where(), script, script=_AS_ROOT) as reader:
        until(lambda: any(f"sleep {patient.mark}" in words for words in patient.running()), what="root's command")
        reader.kill()
        patient.must_be_gone(seconds=5.0)


_AS_ROOT = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command
from bot.domain.node import Node
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
address, port, user, key, known_hosts, script = sys.argv[1:]
batch = Batch.of([("p", Command("root", ("sh", "-c", script)))], Sampling(1))
async def main():
    transport = SshTransport(Keyring(Path(known_hosts)), lambda: "5ec2e7")
    async for run in transport.read(Node("n", address, int(port), user, Path(key)), batch, timedelta(seconds=20)):
        print(run)
asyncio.run(main())
"""


def _trust(sshd: Sshd, port: int) -> None:
    with sshd.known_hosts.open("a") as file:
        file.write(sshd.known_hosts_line().replace(f":{sshd.port}", f":{port}"))


@pytest.mark.real_sshd
@pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt install openssh-server)")
def test_after_the_whole_program_was_told_to_end_in_the_middle_of_a_check(sshd: Sshd, tmp_path: Path) -> None:
    patient = Patient(sshd)
    inventory = sshd.inventory(tmp_path)
    words = ("check", "node-1", "--samples", "30", "--inventory", str(inventory))
    with Started(*words, env={**os.environ, "HOME": str(tmp_path)}) as program:
        until(lambda: any("sleep 29." in words for words in patient.running()), within=timedelta(seconds=30), what="it")
        program.send_signal(signal.SIGTERM)
        patient.must_be_gone()
        assert program.wait(timeout=10) == -signal.SIGTERM
