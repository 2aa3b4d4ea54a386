"""A case answers as its node did, and what a recording check judges is what its case holds."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.app.cases import Recording, replayed
from bot.app.check import Check, check
from bot.app.factories import now
from bot.domain.batch import Sampling
from bot.domain.case import FORM, Case, CaseHeader, NotReached, read_case
from bot.domain.command import Command, Completed, SampleTimes
from bot.domain.errors import CaseError, HostKeyRejected
from bot.domain.node import Node
from bot.domain.verdict import Status, Verdict
from bot.domain.verdict import recorded_verdict as kept_of
from bot.response.diagnosis.planning import DrainSettings
from bot.response.diagnosis.triage import Triage
from bot.transport.case_file import load, write
from bot.transport.replay import ReplayTransport
from tests.contract.ways import Way, local, octal, sh
from tests.shipped import shipped

CAPTURES = Path(__file__).parents[1] / "captures"
FOUNDING = CAPTURES / "nodes" / "synthetic--ray-gpu-1a-0417.jsonl.gz"
FORM_2 = CAPTURES / "cases" / "form-2--leaked-memory-cgroups.jsonl.gz"
KEPT = {"form-1": FOUNDING, "form-2": FORM_2}
NODE = Node("n1", "10.0.0.7", labels={"kubernetes_node": "ip-10-0-0-7", "rack": "7"})


async def recorded(case: Case, folder: Path, draining: DrainSettings, node: Node = NODE) -> tuple[Verdict, Path]:
    """Check a node that answers as the case, and record it."""
    playbook = shipped().get("node-health")
    triage = Triage(ReplayTransport(case), ACTIONS, now, Sampling(5), draining=draining)
    what = Check((node,), playbook, triage, 1)
    recording, found = Recording(what, folder, judges=True), []

    def concluded(verdict: Verdict) -> None:
        found.append((verdict, recording.keep(verdict)))

    await check(recording.check, lambda heard: None, concluded)
    return found[0]


async def test_case_answers_as_the_node_did(tmp_path: Path) -> None:
    commands = (
        Command("twice", ("cat", "/proc/uptime"), looks=SampleTimes.TWICE),
        sh("odd", f"printf '{octal(bytes(range(256)))}'; echo err >&2; exit 3"),
        Command("cut", ("yes",), output_limit_bytes=100),
    )
    runs = await local().ask(*commands)
    case = load(write(tmp_path, Case(CaseHeader("n"), tuple(runs.values()))))
    again = Way(ReplayTransport(case), Node("n", "a"), "")
    assert await again.ask(*commands) == runs
    assert set(await again.ask(commands[2], Command("never", ("x",)))) == {("cut", 0)}


async def test_answer_that_no_node_gives_is_cut_in_a_replay() -> None:
    long, short = (Completed("probe", "a", 0, "x" * length, exit_status=0) for length in (401, 400))
    command = Command("a", ("x",), output_limit_bytes=100)
    for run, cut in ((long, True), (short, False)):
        way = Way(ReplayTransport(Case(CaseHeader("n"), (run,))), Node("n", "a"), "")
        answer = await way.ask_one(command)
        assert (answer.cut, answer.stdout) == (cut, "x" * 400)


async def test_replay_fails_as_the_connection_did() -> None:
    run = Completed("p", "a", 0, "said")
    case = Case(CaseHeader("n", unreachable=NotReached("host-key", "n shows another key.", "Compare it.")), (run,))
    way = ReplayTransport(case)
    with pytest.raises(HostKeyRejected, match="n shows another key"):
        await Way(way, Node("n", "a"), "").ask(Command("a", ("x",)))


async def test_recording_check_keeps_what_it_judged_and_the_replay_agrees(tmp_path: Path) -> None:
    drains = DrainSettings("", "prod", timedelta(minutes=3))
    verdict, path = await recorded(load(FOUNDING), tmp_path, drains)
    case = load(path)
    assert verdict.plan is not None
    assert [step.action for step in verdict.plan.steps] == ["disable_unit", "drain", "reboot", "uncordon"]
    again = await replayed(case, shipped().get("node-health"))
    assert again.plan == verdict.plan
    assert replace(again, took=verdict.took) == verdict
    assert case.judged is not None
    assert (case.judged.plan, case.judged.differs_from(kept_of(again))) == (verdict.plan.digest, ())
    assert case.head.labels == {"kubernetes_node": "ip-10-0-0-7"}
    assert case.head.playbook_digest == shipped().get("node-health").digest
    assert case.head.environment["kernel"] == "kernel 5.4.0-1084-aws"
    commands = {(asked.probe, asked.name): asked for asked in case.asked}
    assert commands["cgroups", "look"].looks == 2
    assert {run.name for run in case.runs if run.probe == "cpu"} <= {name for probe, name in commands if probe == "cpu"}
    assert all(argv for asked in case.asked for argv in asked.argv)


async def test_node_that_nobody_reaches_is_a_case_too(tmp_path: Path) -> None:
    failed = Case(CaseHeader("n1", unreachable=NotReached("refused", "Nothing listens there.", "Start sshd.")))
    verdict, path = await recorded(failed, tmp_path, DrainSettings())
    assert verdict.status is Status.UNREACHABLE
    again = await replayed(load(path), shipped().get("node-health"))
    assert (again.status, again.summary, again.try_next) == (verdict.status, verdict.summary, verdict.try_next)


async def test_secret_that_a_node_prints_is_not_in_its_case(tmp_path: Path) -> None:
    said = load(FOUNDING).runs[::8]
    token = "xoxb-123456789012-" + "a1B2" * 6
    runs = tuple(replace(run, stdout=f"{run.stdout}\ntoken={token}\n", stderr=f"password: {token}") for run in said)
    _, path = await recorded(replace(load(FOUNDING), runs=runs), tmp_path, DrainSettings())
    text = path.read_text()
    assert token not in text
    assert text.count("[redacted") >= 2 * len(runs)


@pytest.mark.parametrize("path", KEPT.values(), ids=KEPT)
async def test_case_of_each_form_stays_readable(path: Path) -> None:
    case = load(path)
    assert f"form-{case.form}" in next(name for name, kept in KEPT.items() if kept == path)
    verdict = await replayed(case, shipped().get("node-health"))
    assert (verdict.status, verdict.cause) == (Status.CRITICAL, "leaked-memory-cgroups")
    assert verdict.plan is not None
    if (told := case.judged) is not None:  # a plan whose steps do otherwise by now has another digest, and should
        assert (told.status, told.cause, told.confidence) == (verdict.status, verdict.cause, verdict.confidence)
        assert told.plan


def test_a_case_of_every_form_is_kept() -> None:
    assert sorted(load(path).form for path in KEPT.values()) == [*range(1, FORM + 1)]


def test_same_case_is_the_same_bytes() -> None:
    text = gzip.decompress(FORM_2.read_bytes()).decode()
    case = read_case(text, "here", "n")
    assert case.text() == text
    backwards = replace(case, runs=case.runs[::-1], asked=case.asked[::-1])
    assert backwards.text() == text
    assert replace(case, head=replace(case.head, taken_at=datetime(2026, 1, 1, tzinfo=UTC))).digest != case.digest


def test_case_that_was_changed_anywhere_is_refused_and_its_hash_named() -> None:
    case = Case(CaseHeader("n1"), tuple(Completed("p", name, 0, "one\ntwo") for name in "abc"))
    raw = case.text().encode()
    assert read_case(raw.decode(), "here", "n").runs == case.runs
    for at, byte in enumerate(raw):
        flipped = (raw[:at] + bytes([byte ^ 1]) + raw[at + 1 :]).decode()
        with pytest.raises(CaseError, match="here"):
            read_case(flipped, "here", "n")
        with pytest.raises(CaseError, match="here"):
            read_case(raw[:at].decode(), "here", "n")
    changed = case.text().replace("two", "too")
    with pytest.raises(CaseError, match=rf"here was changed: its content hash is .*recorded as {case.digest[:16]}… "):
        read_case(changed, "here", "n")
    with pytest.raises(CaseError, match="here is cut short: its last line, the content hash, is missing"):
        read_case(case.text().rsplit('{"sha256"', 1)[0], "here", "n")


def test_case_of_a_newer_form_says_who_wrote_it() -> None:
    with pytest.raises(CaseError, match=r"form 3, by zombie 9\.1; this program reads forms 1 to 2") as no:
        read_case('{"case": 3, "program": "zombie 9.1", "new": []}\n{"x": 1}\n', "here", "n")
    assert "the version of zombie that recorded it" in no.value.try_next


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[1]\n",
        '{"recording": 2}\n',
        '{"recording": 1}\n[1]\n',
        '{"recording": 1}\n{"took": null}\n',
        '{"recording": 1}\n{"probe": "p", "name": "n", "look": 0, "stdout": 5, "took": null}\n',
        '{"recording": 1}\n{"probe": "p", "name": "n", "look": 0, "stdout": "", "started_at_uptime": NaN}\n',
        '{"recording": 1}\n{"probe": "p", "name": "n", "look": 0, "stdout": "", "started_at_uptime": 1e999}\n',
        '{"recording": 1}\n{"probe": "p", "name": "n", "look": 0, "stdout": "", "started_at_uptime": 1e18}\n',
        '{"recording": 1}\n{"probe": "p", "name": "n", "look": 0, "stdout": "", "took": 1e300}\n',
        '{"recording": 1}\n' + 2 * '{"probe": "p", "name": "n", "look": 0, "stdout": ""}\n',
        '{"recording": 1}\n{"probe": "p", "name": "n", "look": 0, "stdout": "sick", "stdout": ""}\n',
        '{"recording": true}\n',
        '{"case": true}\n',
        '{"case": "2"}\n',
        '{"case": 2}\n',
        '{"recording": 1}\n' + 200_000 * "[",
        "\x00",
        "{",
    ],
)
def test_what_is_no_case_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "node.jsonl"
    path.write_text(text)
    with pytest.raises(CaseError, match=str(path)):
        load(path)


def test_compressed_case_that_is_cut_or_swells_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "node.jsonl.gz"
    raw = FORM_2.read_bytes()
    for some in (b"", raw[:9], raw[: len(raw) // 2], raw[:-1], gzip.compress(bytes(65 * 1024 * 1024))):
        path.write_bytes(some)
        with pytest.raises(CaseError, match=str(path)):
            load(path)


@pytest.mark.parametrize("most", ["{}\n", "[],", "1,"])
def test_case_of_few_bytes_that_would_fill_the_memory_is_refused(tmp_path: Path, most: str) -> None:
    path = tmp_path / "node.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"recording": 1}\n' + most.encode() * 1_000_000))
    with pytest.raises(CaseError, match="it has more than 200,000 values"):
        load(path)


def test_case_that_a_single_letter_makes_four_times_as_wide_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "node.jsonl.gz"

    def loaded(letter: str) -> Case:
        path.write_bytes(gzip.compress(f'{{"recording": 1, "said": "{letter}{"a" * 9_000_000}"}}\n'.encode()))
        return load(path)

    assert loaded("a").runs == ()
    with pytest.raises(CaseError, match="it takes more than 32 MiB of memory"):
        loaded("\U0001f600")


async def test_what_another_playbook_did_not_ask_is_unread_and_not_healthy(tmp_path: Path) -> None:
    books = shipped()
    whole, few = books.get("node-health"), books.get("zombie-cgroups")
    healthy = replace(load(CAPTURES / "nodes" / "debian-12--healthy.jsonl.gz"), form=FORM)
    asked = {probe.name for probe in few.probes}
    head = replace(healthy.head, playbook=few.name, playbook_digest=few.digest)
    case = replace(healthy, head=head, runs=tuple(run for run in healthy.runs if run.probe in asked))
    assert (await replayed(case, few)).status is Status.HEALTHY
    verdict = await replayed(case, whole)
    assert verdict.status is Status.UNKNOWN
    assert "gpu was not read (it was not asked when the case was recorded)" in verdict.summary
    same = replace(case, head=replace(head, playbook=whole.name, playbook_digest=whole.digest))
    assert (await replayed(same, whole)).status is Status.UNKNOWN, "runs were taken out of it"
    older = replace(case, head=replace(head, playbook=whole.name, playbook_digest="0" * 64))
    assert (await replayed(older, whole)).status is Status.HEALTHY, "earlier versions did not ask everything"


def test_control_characters_of_a_foreign_case_are_made_visible() -> None:
    row = '{"probe": "p", "name": "n", "look": 0, "stdout": "\\u001b[31m", "stderr": "\\u202e"}'
    (run,) = read_case(f'{{"recording": 1}}\n{row}\n', "here", "n").runs
    assert (run.stdout, run.stderr) == (r"\x1b[31m", r"\u202e")
