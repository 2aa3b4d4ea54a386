"""`zombie check`: check nodes and say what is wrong with them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bot.commands import options
from bot.domain.errors import UsageError
from bot.domain.node import Node
from bot.domain.selector import Selector

if TYPE_CHECKING:
    from bot.app.check import Check, EvaluatedNode, HearsVerdict
    from bot.app.shards import Asks
    from bot.app.stored_counts import StoredCounts
    from bot.domain.contracts import Listener
    from bot.domain.growth import CountSample
    from bot.domain.playbook import Playbook
    from bot.domain.verdict import Verdict
    from bot.ledger import Database
    from bot.response.diagnosis.scheduler import Diagnose
    from bot.seats import ReadsMore
    from bot.settings import Settings
    from bot.surfaces.document_stream import DocumentStream

COMPILES_AFTER = 1.0  # seconds: a node is connected by then, and samples; its verdict need not wait for patterns
EarlierCounts: TypeAlias = "Mapping[str, tuple[CountSample, ...]]"  # by cause
EXAMPLES = """examples:
  zombie check node-123                        a node of ./inventory.toml or ZOMBIE_INVENTORY
  zombie check node-123 --full                 with the proof, the commands, and what was ruled out
  zombie check --all                           a table, the sick nodes first
  zombie check node-1 node-2 --json            the same as JSON, for scripts; --no-readings: shorter
  zombie check --local -p image-gate           this machine, as the last step of an image's build
  zombie check role=gpu,az=us-east-1a          every node with these labels; 'ray-gpu-*' takes names by a glob
  zombie check node-123 -p zombie-cgroups      with another playbook, which asks a single question
  zombie check node-123 --open                 also opens an incident: zombie incidents
  zombie check node-123 --record said/ --json  also stores what it said, without secrets: zombie replay said/
"""

EXIT_CODES = """exit status:
  0  every node is healthy
  1  a node is at or above --fail-on (default: degraded)
  2  the command line, or a file it names, is wrong
  3  a node cannot be judged: a deciding reading is missing
  4  a node could not be reached
  With several nodes 1 wins over 4, and 4 over 3. Ctrl-C: 130; a bug in the program: 70.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "check",
        "check nodes and say what is wrong with them",
        "Log in to each node once, read everything within one sampling window, and give a verdict.",
        EXAMPLES + "\n" + EXIT_CODES,
        group="start here",
    )
    options.add_selection(parser, "*")
    parser.add_argument("--local", action="store_true", help="check this machine, without SSH")
    parser.add_argument("--all", action="store_true", help="check every node of the inventory")
    parser.add_argument("-p", "--playbook", metavar="NAME", help="the playbook (default: node-health)")
    options.add_files(parser)
    parser.add_argument(
        "--full", action="store_true", help="print the proof too, the commands, and what was ruled out or not read"
    )
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON, with all of that")
    parser.add_argument("--no-readings", action="store_true", help="with --json: leave out what was read")
    parser.add_argument("--json-schema", action="store_true", help="print the JSON's schema and exit")
    parser.add_argument(
        "--fail-on", choices=("degraded", "critical"), default="degraded", help="exit 1 from this status on"
    )
    parser.add_argument("--samples", type=options.window, metavar="N", help="sample for N seconds (default 5)")
    parser.add_argument("--deadline", metavar="S", help="give up on a node after S seconds")
    parser.add_argument("--parallel", type=options.positive, metavar="N", help="check N at once (default: up to 200)")
    parser.add_argument("--open", action="store_true", help="open an incident for each node")
    parser.add_argument(
        "--record", type=Path, metavar="DIR", help="write each node's case to DIR; with --json also the verdict"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    if arguments.json_schema:
        from bot.surfaces.document import SCHEMA_FILE

        print(SCHEMA_FILE.read_text(encoding="utf-8"), end="")
        return 0
    words = list(dict.fromkeys(Selector.of(word).text for word in arguments.nodes))
    if not (words or arguments.local or arguments.all):
        raise UsageError("Which node?", "Name nodes, or say --all, or --local for this machine.")
    if arguments.local and (words or arguments.all):
        raise UsageError("--local checks this machine only.", "Leave the node names out.")
    if arguments.record is not None and arguments.open:
        raise UsageError(
            "--record stores what the nodes said, and --open opens incidents: not both at once.",
            "Check again without --record.",
        )
    if arguments.no_readings and not arguments.json:
        raise UsageError("--no-readings leaves them out of JSON, and no JSON is asked for.", "Add --json.")
    what = _check_of(arguments)
    if arguments.record is not None:
        return _record_cases(arguments, what)
    from bot.commands import open_record

    # Opened before any node is read, so that an unusable database is reported first.
    with open_record.open_or_create(arguments.environ) if arguments.open else contextlib.nullcontext() as database:
        return _judge_nodes(arguments, what, database)


def _record_cases(arguments: argparse.Namespace, what: Check) -> int:
    """Write each node's case as its verdict comes, and print its path; with --json print the verdicts."""
    from bot.app.cases import Recording
    from bot.app.check import exit_status, without_details
    from bot.domain.verdict import Status

    recording = Recording(what, arguments.record, judges=arguments.json)
    verdicts: list[Verdict] = []
    stream, evaluate = _json_stream(arguments, what), _evaluator(arguments, recording.check)

    def keep(verdict: Verdict) -> None:
        path = recording.keep(verdict)
        verdicts.append(without_details(verdict))
        print(path, file=sys.stderr if arguments.json else sys.stdout, flush=True)

    try:
        asyncio.run(_check_nodes(recording.check, stream, evaluate, keep))
    except KeyboardInterrupt:
        options.print_remark(f"interrupted, {len(verdicts)} of {len(what.nodes)} nodes were recorded")
        return 130
    finally:
        if stream is not None:
            _record_and_print(arguments, what, verdicts, None, stream)
    # Without --json nothing is judged: any answer of a node is a success.
    shown = verdicts if arguments.json else [verdict for verdict in verdicts if verdict.status is Status.UNREACHABLE]
    return exit_status(shown, Status(arguments.fail_on))


def _judge_nodes(arguments: argparse.Namespace, what: Check, database: Database | None) -> int:
    from bot.app.check import exit_status
    from bot.app.many_nodes import MANY, PARSED_LATE, cores, worker_count
    from bot.app.shards import run_shared
    from bot.commands import open_record
    from bot.domain.verdict import Status

    verdicts: list[Verdict] = []
    stream = _json_stream(arguments, what)
    # Where incidents are opened, each node's readings and its case go on record: all of that stays here.
    several = worker_count(len(what.nodes), cores()) if database is None else 0
    what = replace(what, triage=replace(what.triage, parses_late=several > 0 and what.parallel >= PARSED_LATE))
    beside = _load_extra_readers(arguments, database)
    evaluate = _evaluator(arguments, what, beside, processes=several + 1)

    async def check_nodes(ask: Asks[EarlierCounts, EvaluatedNode]) -> None:
        if len(what.nodes) < MANY:
            loop = asyncio.get_running_loop()
            loop.call_later(COMPILES_AFTER, loop.run_in_executor, None, _compile_patterns)
        keep = _verdict_keeper(arguments, len(what.nodes) > 1, verdicts)
        with open_record.counts(arguments.environ) if stream is not None else contextlib.nullcontext() as counts:
            await _check_nodes(what, stream, ask, keep, counts, writes=not arguments.open)
        for each in beside:
            await each.close()

    try:
        run_shared(several, evaluate, check_nodes)
    except KeyboardInterrupt:
        options.print_remark(f"interrupted, {len(verdicts)} of {len(what.nodes)} nodes were judged")
        return 130
    finally:
        _record_and_print(arguments, what, verdicts, database, stream)
    return exit_status(verdicts, Status(arguments.fail_on))


def _compile_patterns() -> None:
    """Compile what a verdict needs: where secrets are, and which units are protected."""
    from bot.domain.protected import is_protected
    from bot.domain.secret_forms import compile_forms

    compile_forms()
    is_protected([""])


def _evaluator(
    arguments: argparse.Namespace, what: Check, beside: Sequence[ReadsMore] = (), processes: int = 1
) -> Asks[EarlierCounts, EvaluatedNode]:
    """Return what reads and judges a node, knowing what was counted there before, in one of so many processes.

    Shape: of the verdict as much is kept as is still printed or stored.
    """
    from bot.app.check import EvaluatedNode, growth_of, without_details
    from bot.app.start_limiter import StartLimiter
    from bot.domain.safe_text import Redactor
    from bot.domain.verdict import without_secrets
    from bot.surfaces.document import node_document, node_text
    from bot.surfaces.json_converter import JsonConverter

    redactor, converter = Redactor(), JsonConverter()
    keeps_all = arguments.open or arguments.record is not None
    diagnose: Diagnose = what.triage.diagnose
    for each in beside:
        diagnose = each.beside(diagnose)
    diagnose = StartLimiter(what.triage.cpu_lock, processes).paced(diagnose)

    async def evaluate(node: Node, looks: EarlierCounts, heard: Listener) -> EvaluatedNode:
        verdict = without_secrets(await diagnose(node, what.playbook, heard), redactor)
        if not arguments.json:
            again = verdict.status.value != "healthy"
            return EvaluatedNode(verdict if keeps_all or len(what.nodes) == 1 else without_details(verdict, again))
        told = replace(verdict, snapshot=None) if arguments.no_readings else verdict
        text = node_text(node_document(told, None, converter, growth_of(verdict, what.playbook, looks)))
        return EvaluatedNode(verdict if keeps_all else without_details(verdict), text)

    return evaluate


def _json_stream(arguments: argparse.Namespace, what: Check) -> DocumentStream | None:
    """The JSON output of the verdicts; None for text."""
    if not arguments.json:
        return None
    from bot.surfaces.document_stream import DocumentStream

    return DocumentStream([node.name for node in what.nodes], sys.stdout)


def _check_of(arguments: argparse.Namespace) -> Check:
    from bot.app.check import Check, triage_of
    from bot.app.factories import local_transport, ssh_transport, this_machine
    from bot.app.version import program_name

    settings = options.settings(arguments)
    playbook = options.library(settings).get()
    nodes: tuple[Node, ...]
    if arguments.local:
        nodes, transport = (this_machine(),), local_transport()
    else:
        inventory = options.inventory(arguments, settings)
        nodes = options.selection(arguments, inventory, settings)[1]
        transport = ssh_transport(arguments.environ)
    mutes = None
    if arguments.record is None:  # a case is what the node said, without people's mutes
        from bot.commands import open_record

        mutes = open_record.mutes(arguments.environ)
    triage = triage_of(settings, transport, mutes, program_name() if arguments.open else "")
    if triage.deadline <= triage.sampling.window:
        raise UsageError(
            f"A check watches a node for {settings.samples} s, but its deadline is "
            f"{triage.deadline.total_seconds():g} s.",
            "Use a longer --deadline or fewer --samples.",
        )
    return Check(nodes, playbook, triage, _prepare_concurrency(nodes, settings))


def _prepare_concurrency(nodes: Sequence[Node], settings: Settings) -> int:
    """How many are read at once; fewer than requested if this process may not open so many connections."""
    from bot.app.many_nodes import AT_ONCE, collect_garbage_less_often, raise_file_limit

    wanted = min(settings.parallel or AT_ONCE, len(nodes))
    collect_garbage_less_often(len(nodes))
    if (room := raise_file_limit(wanted)) < wanted and settings.parallel is not None:
        options.print_remark(f"only {room} nodes at once: the limit of open files (ulimit -n) allows no more")
    return max(1, min(room, wanted))


async def _check_nodes(
    what: Check,
    stream: DocumentStream | None,
    ask: Asks[EarlierCounts, EvaluatedNode],
    keep: HearsVerdict,
    counts: StoredCounts | None = None,
    writes: bool = True,
) -> None:
    """Check the nodes; `keep` gets each verdict as it comes.

    `writes`: JSON is written while nodes are read; with --open a node's document waits for its incident.
    """
    from bot.app.many_nodes import each_node
    from bot.app.terminal_progress import shown_progress

    writing = stream.writing() if stream is not None and writes else contextlib.nullcontext()
    async with shown_progress(len(what.nodes)) as (heard, clear), writing:

        async def judge(node: Node) -> None:
            evaluated = await ask(node, _earlier_counts(counts, node.name), heard)
            clear()
            keep(evaluated.verdict)
            if stream is not None:
                stream.add(node.name, evaluated.text)

        await each_node(what.nodes, what.parallel, judge)


def _load_extra_readers(arguments: argparse.Namespace, database: Database | None) -> list[ReadsMore]:
    """What extras have beside a verdict that goes on record."""
    if database is None:
        return []
    from bot.seats import loaded

    def log(event: str, **fields: object) -> None:
        options.print_remark(f"{event.replace('_', ' ')}: {fields.get('error', '')}")

    settings, names = options.settings(arguments), [extra.reads_more_alone for extra in arguments.extras.serving]
    return [loaded(name)(database, settings, log) for name in names if name]


def _verdict_keeper(arguments: argparse.Namespace, several: bool, verdicts: list[Verdict]) -> HearsVerdict:
    """Return what keeps a verdict as it comes, and prints it unless JSON is; its words are loaded only when used.

    Of several nodes the table is complete at the end; on a terminal the progress names those that are sick so far.
    """
    if arguments.json:
        return verdicts.append
    from bot.surfaces.verdict_brief import verdict_brief
    from bot.surfaces.verdict_text import headline, verdict_text

    colour, words, draws = options.wants_colour(arguments), options.plan_words(), options.redraws(arguments)
    may_open = not (arguments.open or arguments.local)
    text = verdict_text if arguments.full else functools.partial(verdict_brief, proposes=may_open)

    def keep(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if not several:
            print(text(verdict, options.width(), colour, words), end="", flush=True)
        elif verdict.status.value != "healthy" and not draws:
            print(headline(verdict), file=sys.stderr, flush=True)

    return keep


def _earlier_counts(counts: StoredCounts | None, node: str) -> EarlierCounts:
    """What was counted there before; a record that cannot be read is said, and holds no verdict up."""
    from bot.domain.errors import LedgerError

    try:
        return counts.looks(node) if counts is not None else {}
    except LedgerError as no:
        options.print_remark(f"what was counted on {node} cannot be read: {no.sentence}")
        return {}


def _record_and_print(
    arguments: argparse.Namespace,
    what: Check,
    verdicts: list[Verdict],
    database: Database | None,
    stream: DocumentStream | None,
) -> None:
    """Open incidents if requested, and print what is only complete at the end, in the order of the request.

    Raises: LedgerError when an incident could not be written; the verdicts are printed all the same.
    """
    order = {node.name: index for index, node in enumerate(what.nodes)}
    verdicts.sort(key=lambda verdict: order[verdict.node])
    incidents: dict[str, str] = {}
    try:
        if database is not None:
            _record_incidents(arguments, database, verdicts, what.playbook, incidents)
    finally:
        if stream is None and len(what.nodes) > 1:
            _print_table(arguments, what, verdicts)
        if stream is not None:
            stream.end(incidents)
        for node, incident in incidents.items() if stream is None else ():
            print(options.as_typed_here(arguments, f"Incident {incident} of {node}: zombie incidents show {incident}"))
        if len(verdicts) > 1:
            from bot.app.machines import shared_machine_words

            for remark in shared_machine_words(verdicts):
                options.print_remark(remark)


def _record_incidents(
    arguments: argparse.Namespace,
    database: Database,
    verdicts: list[Verdict],
    playbook: Playbook,
    incidents: MutableMapping[str, str],
) -> None:
    """Record the verdicts with their proposals; a plan for this machine itself is never offered.

    Raises: LedgerError when an incident could not be written.
    """
    from bot.app.acting import acting
    from bot.commands import open_record
    from bot.commands.terminal_login import terminal_user

    by = terminal_user(arguments.environ)

    async def recorded(stores: open_record.RecordStores) -> None:
        settings = options.settings(arguments)
        if arguments.local:
            await open_record.open_incidents(stores, verdicts, playbook, incidents, None, by)
            return
        parts = acting(settings, options.inventory(arguments, settings), stores.ledger, arguments.environ)
        try:
            await open_record.open_incidents(stores, verdicts, playbook, incidents, parts.proposer, by)
        finally:
            await parts.cluster.close()

    asyncio.run(recorded(open_record.stores_of(database, arguments.extras.serving)))


def _print_table(arguments: argparse.Namespace, what: Check, verdicts: Sequence[Verdict]) -> None:
    """Print a row for each node, and with --full also everything about those that are not healthy."""
    from bot.surfaces.verdict_brief import FEW, verdicts_table
    from bot.surfaces.verdict_text import verdict_text

    colour, words = options.wants_colour(arguments), options.plan_words()
    for verdict in verdicts if arguments.full else ():
        if verdict.status.value != "healthy":
            print(verdict_text(verdict, options.width(), colour, words))
    listed = len(verdicts) if arguments.full else FEW
    print(verdicts_table(verdicts, len(what.nodes), options.width(10_000), colour, words, listed), end="")
    if not arguments.full and any(verdict.status.value != "healthy" for verdict in verdicts):
        print(options.as_typed_here(arguments, "Next: zombie check NODE, or this again with --full"))
