"""The founding incident on record, with what its node said, as whoever serves puts it there."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, Self

from bot.actions import ACTIONS
from bot.app.version import program_name
from bot.domain.batch import Sampling
from bot.domain.entry import NotedHead
from bot.domain.events import Approved, Escalated, PlanProposed, StepStarted
from bot.domain.fold import fold
from bot.domain.node import Node
from bot.domain.verdict import Verdict, without_secrets
from bot.extras.bundles.bundle import ORDER, Bundle, BundleFile
from bot.extras.bundles.export import export
from bot.extras.bundles.verification import BundleFindings, verified
from bot.ledger import CaseStore, Database, Ledger
from bot.response.diagnosis.planning import DrainSettings
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.triage import Triage
from bot.response.incident_record import IncidentRequest, null_log
from bot.transport.case_file import load
from bot.transport.replay import ReplayTransport
from tests.contract.test_why import FOUNDING
from tests.record.incidents import ASKER, BEGAN_AT, BOOT
from tests.record.keeping import keep
from tests.shipped import shipped

NODE = Node("ray-gpu-1a-0417", "10.0.0.7", labels={"kubernetes_node": "ip-10-0-0-7"})
ROOT = Path(__file__).parents[2]
# A child's peak begins with that of the process that forked it: so one forks it that has loaded the command, no more.
MEASURED = """
import json, os, sys, traceback
from bot.__main__ import main
for name in sys.argv[1:]:
    __import__(name)
print("ready", flush=True)
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        status = 1
        try:
            status = main(json.loads(line))
        except SystemExit as ended:
            status = int(ended.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status, used = os.wait4(pid, 0)
    print()
    print("ended", os.waitstatus_to_exitcode(status), used.ru_maxrss // 1024, flush=True)
"""
END = Escalated("no proof", "Look at its console.")
SECRET = "xoxb-123456789012-" + "a1B2" * 6


class Offering:
    """A proposer that offers the verdict's plan."""

    async def event(self, verdict: Verdict, *_: Any) -> PlanProposed | None:
        return None if verdict.plan is None else PlanProposed.of(verdict.plan, {"boot_id": BOOT})


def judged(database: Database, at_node: Node = NODE) -> str:
    """Put the founding incident on record, up to its proposal, as whoever serves does; return its id."""
    return asyncio.run(_judged(database, at_node))


async def _judged(database: Database, at_node: Node) -> str:
    ledger, cases = Ledger(database), CaseStore(database)
    verdict, playbook = await verdict_of(at_node, ledger), shipped().get("node-health")
    recorder = VerdictRecorder(ledger, Offering(), null_log, cases)  # type: ignore[arg-type]
    request = IncidentRequest("slack", "1700000000.000100", ASKER, f"check {at_node.name}", playbook.name)
    return (await recorder.record(request.unrecorded(at_node.name, BEGAN_AT), verdict, playbook)).id


async def verdict_of(at_node: Node, mutes: Ledger | None = None) -> Verdict:
    """Read a node that says what the founding one said, and a secret beside; its verdict keeps the case."""
    said = load(FOUNDING)
    runs = tuple(replace(run, stderr=f"{run.stderr}token={SECRET}") for run in said.runs)
    triage = Triage(
        ReplayTransport(replace(said, runs=runs)),
        ACTIONS,
        lambda: BEGAN_AT,
        Sampling(said.head.samples),
        timedelta(seconds=20),
        draining=DrainSettings("", "prod"),
        program=program_name(),
        mutes=mutes,
    )
    return without_secrets(await triage.diagnose(at_node, shipped().get("node-health")))


def ended(database: Database) -> str:
    """Put it on record up to its end."""
    incident_id = judged(database)
    ledger = Ledger(database)
    proposal = fold(ledger.read.now(incident_id)).proposal
    assert proposal is not None
    keep(ledger, incident_id, (Approved(proposal.digest, "it is drained"), StepStarted(1, 1, BOOT), END))
    return incident_id


def bundle_of(database: Database, incident_id: str, until: NotedHead | None = None) -> Bundle:
    """Export an incident, and read what was written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.jsonl"
        export(database, incident_id, BEGAN_AT, path, until)
        return bundle_in(path.read_bytes())


def bundle_in(raw: bytes) -> Bundle:
    """Read a bundle as a value, to change it."""
    file = BundleFile(BytesIO(raw))
    found: dict[str, list[Any]] = {kind: [] for kind in ORDER}
    for kind, value in file.rows():
        found[kind].append(value)
    entries, house, kept = tuple(found["entry"]), tuple(found["house"]), tuple(found["kept"])
    case = found["case"][0] if found["case"] else None
    return Bundle(found["bundle"][0], entries, house, found["report"][0], case, kept, file.form)


def raw_of(bundle: Bundle) -> bytes:
    """Write a bundle, with every hash of its last line right."""
    return b"".join(bundle.lines())


def damage(raw: bytes) -> tuple[str, ...]:
    """What of a bundle was changed."""
    return BundleFile(BytesIO(raw)).damage()


def looked_at(bundle: Bundle | bytes, *heads: str) -> BundleFindings:
    """Verify a bundle by the program that wrote it."""
    raw = bundle if isinstance(bundle, bytes) else raw_of(bundle)
    return verified(BytesIO(raw), shipped(), [NotedHead.of(head) for head in heads])


class Measured:
    """A program at an ASCII terminal that has loaded modules once, and runs command lines in forks of itself."""

    def __init__(self, state: Path, *modules: str) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(state), "ZOMBIE_STATE_DIR": str(state)}
        environment |= {"PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
        environment |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", MEASURED, *modules],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._until("ready")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, *words: str) -> tuple[str, int, int]:
        """Return what a command line said, its exit status, and its peak in MiB."""
        assert self._process.stdin is not None
        print(json.dumps(words), file=self._process.stdin, flush=True)
        said, last = self._until("ended ")
        status, megabytes = map(int, last.split()[1:])
        return said, status, megabytes

    def _until(self, mark: str) -> tuple[str, str]:
        assert self._process.stdout is not None
        lines: list[str] = []
        for line in self._process.stdout:
            if line.startswith(mark):
                return "".join(lines), line
            lines.append(line)
        raise AssertionError("".join(lines))
