"""`zombie wave`: cure many nodes under a single approval, a few at a time."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from bot.commands import options, terminal_approval
from bot.domain.entry import instant_of, instant_text
from bot.domain.errors import ImpossibleEvent, UnreadableEntry, UsageError

if TYPE_CHECKING:
    from bot.domain.verdict import Verdict
    from bot.extras.waves.wave import Wave
    from bot.extras.waves.wiring import WaveParts
    from bot.extras.waves.words import WavePlans

_VERBS = ("start", "approve", "run", "stop", "resume")
_EXAMPLES = """examples:
  zombie wave start role=gpu --cause leaked-memory-cgroups
  zombie wave approve wave-7k3m9x2qpv print its plans and their digest
  zombie wave approve wave-7k3m9x2qpv --digest D --approve-as bob --reason "the canary first"
  zombie wave run wave-7k3m9x2qpv     run it here, where no `zombie serve` runs
  zombie wave wave-7k3m9x2qpv         show its state and its plans
  zombie wave stop wave-7k3m9x2qpv --reason "two nodes look odd"
  zombie wave resume wave-7k3m9x2qpv  print why it was stopped, and how to resume it
  zombie wave resume wave-7k3m9x2qpv --seen TIME --approve-as bob --reason "looked at: a broken disk"
  zombie wave                         all waves

exit status:
  0  done; of `run`: every node had its turn, and no node failed
  1  refused (the refusal's name is on stderr); of `run`: it was stopped, declined or expired, or a node failed
  2  the command line, or a file it names, is wrong; there is no such wave; no node has that cause with a plan
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "wave",
        "cure many nodes under a single approval, one first, then more",
        "`start` checks the nodes, and proposes the plan of each that has the cause. A second person approves all of "
        "it at once. Then a first node has its turn; once it is cured, more follow. Each is read again before its "
        "step, and a node that is not as approved is left alone. The wave stops by itself when a node was acted on "
        "but is not fixed, when three in a row are not as approved, when new alerts rise, and when the brake is on.",
        _EXAMPLES,
        group="act",
    )
    parser.add_argument("words", nargs="*", metavar="start|approve|run|stop|resume|ID", help="the verb, and the wave")
    parser.add_argument("--cause", nargs="+", action="extend", default=[], metavar="SLUG", help="the cause to be cured")
    parser.add_argument("--control", type=_control_is_gone, help=argparse.SUPPRESS)
    parser.add_argument("-n", "--namespace", default="", metavar="NAME", help="the namespace of pod/… and job/…")
    parser.add_argument("--digest", metavar="D", help="of `approve`: the digest that was printed with the plans")
    parser.add_argument("--seen", metavar="TIME", help="of `resume`: the time that was printed with why it was stopped")
    parser.add_argument(
        "--approve-as", type=terminal_approval.name, metavar="NAME", help="a name in terminal_approvers"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the record")
    parser.add_argument("-p", "--playbook", metavar="NAME", help="the playbook (default: node-health)")
    parser.add_argument("--samples", type=options.window, metavar="N", help="the window of each check, in seconds")
    parser.add_argument("--json", action="store_true", help="print the wave as JSON")
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status.

    Raises: UsageError when verb or wave is missing; UnknownIncident for an unknown wave; Refused.
    """
    verb, *words = arguments.words or ["list"]
    if verb not in _VERBS:
        return _show([verb, *words] if arguments.words else [], arguments)
    if not words or (verb != "start" and len(words) > 1):
        raise UsageError("Which nodes?" if verb == "start" else "Which wave?", f"zombie wave {verb} …; see --help")
    if verb in ("approve", "resume"):
        _check_decision(verb, words[0], arguments)
    with _parts(arguments, create=verb == "start") as parts:
        return asyncio.run(_carry_out(parts, verb, words, arguments))


def _check_decision(verb: str, beginning: str, arguments: argparse.Namespace) -> None:
    """Raises: UsageError for a yes or a resumption that is not complete; one that names nothing seen is shown it."""
    seen = arguments.digest if verb == "approve" else arguments.seen
    if not seen:
        return
    if verb == "approve" and not re.fullmatch(r"[0-9a-f]{32,64}", seen):
        raise UsageError("The digest of a wave has 32 digits or more.", f"zombie wave {beginning} prints it.")
    if verb == "resume":
        try:
            instant_of(seen)
        except ValueError:
            raise UsageError(
                "--seen is no time as it was printed.", f"zombie wave resume {beginning} prints it."
            ) from None
    given = {"--approve-as": arguments.approve_as, "--reason": arguments.reason}
    if lacks := [name for name, said in given.items() if not said]:
        raise UsageError(f"A decision needs {' and '.join(lacks)}.", "zombie wave --help")


async def _carry_out(parts: WaveParts, verb: str, words: list[str], arguments: argparse.Namespace) -> int:
    if verb == "start":
        return await _start_wave(parts, words, arguments)
    name = _complete_wave_id(await parts.service.waves.ids(), words[0])
    if verb == "run":
        return await _run_wave(parts, name, arguments)
    if verb == "approve" and not arguments.digest:
        await _refuse_unseen_approval(parts, name, arguments)
    if verb == "resume" and not arguments.seen:
        await _refuse_unread_resume(parts, name, arguments)
    wave = await _decide(parts, verb, name, arguments)
    print(_text(wave))
    if verb == "approve" and wave.approval is not None:
        here = f"A running `zombie serve` goes on with it; here: zombie wave run {wave.id}"
        print(options.as_typed_here(arguments, here))
    return 0


def _control_is_gone(_: str) -> None:
    raise argparse.ArgumentTypeError("control groups of waves are gone: a wave is for every node, without --control")


def _show(words: list[str], arguments: argparse.Namespace) -> int:
    from bot.commands import open_record
    from bot.extras.waves.store import WaveStore
    from bot.extras.waves.words import wave_body, wave_headline, wave_plans
    from bot.ledger import Ledger

    if len(words) > 1:
        raise UsageError(f"Name a single wave, or a verb: {', '.join(_VERBS)}.", "zombie wave --help")
    with open_record.open_existing(arguments.environ) as database:
        waves = WaveStore(database)
        if words:
            wave = waves.find.now(_complete_wave_id(waves.ids.now(), words[0]))
            assert wave is not None
            ledger, incidents = Ledger(database), {}
            for member in wave.proposal.members:
                with contextlib.suppress(UnreadableEntry, ImpossibleEvent):  # a newer program wrote it: it is named
                    if (incident := ledger.incident.now(member.incident)) is not None:
                        incidents[incident.id] = incident
            plans = wave_plans(wave, incidents, options.plan_words())
            options.print_result(arguments, wave_body(wave, plans), _text(wave, plans))
            return 0
        every = []
        for name in waves.ids.now():
            try:
                every += [wave] if (wave := waves.find.now(name)) is not None else []
            except (UnreadableEntry, ImpossibleEvent) as no:  # a newer program wrote it: the others are listed
                options.print_remark(f"{name}: {no.sentence}")
    every.sort(key=lambda wave: wave.opened_at, reverse=True)
    text = "\n".join(map(wave_headline, every)) or "No waves."
    options.print_result(arguments, {"waves": [wave_body(wave) for wave in every]}, text)
    return 0


async def _start_wave(parts: WaveParts, words: list[str], arguments: argparse.Namespace) -> int:
    from bot.app.workload_selection import find_selected
    from bot.commands.terminal_login import terminal_user
    from bot.extras.waves.wiring import known_causes, start_wave
    from bot.extras.waves.words import wave_body
    from bot.seats import CureRequest

    settings, known = options.site(arguments)
    by = terminal_user(arguments.environ)
    playbook = parts.acting.playbooks.get(arguments.playbook or "")
    causes = known_causes(playbook, arguments.cause)  # before a cluster is asked
    nodes = await find_selected(words, known, settings, arguments.environ, arguments.namespace)
    login = by.removeprefix("terminal:")
    request = CureRequest(tuple(words), causes, key="", channel="", by=by, os_user=login)
    try:
        wave = await start_wave(parts, request, nodes, playbook, _print_verdict)
    except asyncio.CancelledError:  # by Ctrl-C
        options.print_remark("interrupted; nothing was done on any node, and no wave proposed that")
        print(options.as_typed_here(arguments, "        `zombie wave` does not list."), file=sys.stderr)
        raise
    for says in await parts.service.left_out(wave):
        options.print_remark(says)
    plans = await _plans(parts, wave)
    how = options.as_typed_here(arguments, f"To approve it: {_approve_command_line(wave)}")
    options.print_result(arguments, wave_body(wave, plans), f"{_text(wave, plans)}\n{how}")
    return 0


async def _plans(parts: WaveParts, wave: Wave) -> WavePlans:
    from bot.extras.waves.words import wave_plans

    return wave_plans(wave, await parts.service.incidents(wave), options.plan_words())


def _approve_command_line(wave: Wave) -> str:
    from bot.extras.waves.words import DIGEST

    digest = wave.proposal.digest[:DIGEST]
    return f"zombie wave approve {wave.id} --digest {digest} --approve-as NAME --reason TEXT"


def _print_verdict(verdict: Verdict) -> None:
    from bot.domain.safe_text import one_line

    print(f"{verdict.node}: {verdict.status.value}: {one_line(verdict.summary, 120)}", file=sys.stderr, flush=True)


async def _refuse_unseen_approval(parts: WaveParts, name: str, arguments: argparse.Namespace) -> NoReturn:
    """Print the plans and their digest, and refuse: a yes says what it has seen."""
    wave = await parts.service.find(name)
    print(_text(wave, await _plans(parts, wave)))
    raise UsageError(
        "Nothing was approved: a yes names the digest of the plans above.",
        options.as_typed_here(arguments, _approve_command_line(wave)),
    )


async def _refuse_unread_resume(parts: WaveParts, name: str, arguments: argparse.Namespace) -> NoReturn:
    """Print why it was stopped and all that would stop it now, and refuse: who resumes it forgives that."""
    from bot.domain.safe_text import safe

    wave = await parts.service.find(name)
    known_until, against = await parts.service.look(wave)
    print("\n".join([_text(wave), *(safe(f"It would stop now: {because}") for because in against)]))
    if known_until is None:
        raise UsageError(f"Wave {wave.id} is {wave.state.value}: only one that was stopped is resumed.")
    resume = f"zombie wave resume {wave.id} --seen {instant_text(known_until)} --approve-as NAME --reason TEXT"
    raise UsageError(
        "Nothing was resumed: who resumes a wave says what they have seen of it.",
        options.as_typed_here(arguments, resume),
    )


async def _decide(parts: WaveParts, verb: str, name: str, arguments: argparse.Namespace) -> Wave:
    approval = terminal_approval.approval(arguments.environ, arguments.approve_as, arguments.reason)
    if verb == "stop":
        return await parts.service.stop(name, approval, anybody=arguments.approve_as is None)
    if verb == "resume":
        return await parts.service.resume(name, approval, instant_of(arguments.seen))
    whole = (await parts.service.find(name)).proposal.digest
    seen = whole if whole.startswith(arguments.digest) else arguments.digest
    return await parts.service.decide(name, replace(approval, digest=seen))


async def _run_wave(parts: WaveParts, name: str, arguments: argparse.Namespace) -> int:
    from bot.extras.waves.events import TurnOutcome
    from bot.extras.waves.wave import WaveState
    from bot.extras.waves.wiring import run_here
    from bot.extras.waves.words import interrupted_lines, wave_headline

    shown = [""]

    def says(wave: Wave, waits: str) -> None:
        line = wave_headline(wave) + (f"  … {options.as_typed_here(arguments, waits)}" if waits else "")
        if line != shown[0]:
            shown[0] = line
            print(line, file=sys.stderr, flush=True)

    try:
        wave = await run_here(parts, name, says)
    except asyncio.CancelledError:  # by Ctrl-C
        told = "\n".join(interrupted_lines(await parts.service.find(name)))
        print(options.as_typed_here(arguments, told), file=sys.stderr)
        raise
    finally:
        await parts.acting.cluster.close()
    print(_text(wave))
    return 0 if wave.state is WaveState.COMPLETED and not wave.having(TurnOutcome.FAILED) else 1


@contextlib.contextmanager
def _parts(arguments: argparse.Namespace, create: bool = False) -> Iterator[WaveParts]:
    from bot.app.acting import acting
    from bot.commands import open_record
    from bot.extras.waves.store import WaveStore
    from bot.extras.waves.wiring import build_wave_service

    settings, known = options.site(arguments)
    with open_record.stores(arguments.environ, create=create, extras=arguments.extras.serving) as stores:
        parts = acting(settings, known, stores.ledger, arguments.environ, cases=stores.cases)
        yield build_wave_service(parts, known, stores.ledger, WaveStore(stores.database), cases=stores.cases)


def _complete_wave_id(ids: tuple[str, ...], beginning: str) -> str:
    """Return the id of the wave with this beginning, with or without `wave-`.

    Raises: UnknownIncident when there is none; UsageError when several ids begin like this.
    """
    from bot.domain.errors import UnknownIncident
    from bot.domain.safe_text import one_line

    begins = beginning.removeprefix("wave-")
    found = [name for name in ids if begins and name.removeprefix("wave-").startswith(begins)]
    if len(found) > 1:
        raise UsageError(f"{len(found)} waves begin like this: {', '.join(found[:5])}", "Write more of it.")
    if not found:
        raise UnknownIncident(f"There is no wave {one_line(beginning, 60)!r}.", "zombie wave lists them.")
    return found[0]


def _text(wave: Wave, plans: WavePlans | None = None) -> str:
    from bot.extras.waves.wave import WaveState
    from bot.extras.waves.words import proposal_lines, wave_lines

    lines = (proposal_lines if wave.state is WaveState.PROPOSED else wave_lines)(wave)
    return "\n".join([*lines, *(["", *plans.lines()] if plans is not None else [])])
