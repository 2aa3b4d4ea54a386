"""Writes what follows from the code: tables of docs/reference.md and docs/readings.md, docs/proven.md, and the sample.

Run it by `python -m tests.reference`.

They stand in the tree, because most people read them there and not on the site. A row that is there keeps its words.
A new one has the words of its file: a probe and a cause the first sentence of what it is about, a property the
first line of its docstring, a field the comment beside it, a setting its own help.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bot.__main__ import parser
from bot.app.extras import shipped
from bot.causes import CAUSES
from bot.commands import COMMANDS
from bot.commands.completion import every_parser
from bot.domain.probe import Probe
from bot.domain.setting import Key
from bot.lab.prove import to_prove
from bot.lab.trial import MACHINES, TRIALS
from bot.library.kinds import ValueKind, fields_of
from bot.probes import PROBES
from bot.response.proven_cures import GONE, ProvenRow, proven_file, read_table
from bot.settings import all_keys
from tests.sample import sample

ROOT = Path(__file__).parents[1]
COMMAND = ".venv/bin/python -m tests.reference"
KINDS = {
    ValueKind.NUMBER: "number",
    ValueKind.TEXT: "text",
    ValueKind.TRUTH: "yes or no",
    ValueKind.TEXTS: "texts",
    ValueKind.NUMBERS: "numbers",
}
_PROVEN = """\
# What was proven on real kernels

Each row is a fault that was really made, on virtual machines with Debian's own kernels: see
[the lab](lab.md#what-is-proven). Without it the node was found well. With it the verdict was the right one, with the
plan of this row and no other. A person's yes had the bot carry the plan out; where no plan is offered, the fault was
undone. Then the readings said that the node was well again or, where the kernel's log still reports the fault, that it
is over. A cell says how many runs healed, and of how many; *undone*: the bot also took its own actions back, after one
more yes. It is empty where a second hierarchy of cgroups would show nothing else.

What a sick node said is kept with its row (`tests/captures/proven`). Every run of the tests judges it anew: a row
fails them where the cause would no longer be named so, or the plan's commands would be others. A machine here is small
and emulated: what a row says of memory, time and packets is that machine's. This page is made from
`playbooks/tables/proven.toml`, where each run has its day, version and words, by `python -m tests.reference`.

"""
_NO_HELD_CORE = """\
What made the founding case grave, a core held by walks over dying cgroups, is not proven here: from 5.8 on the kernel
walks fast, and Debian 10, whose 4.19 is older, is gone from Debian's mirrors. The rows of `leaked-memory-cgroups`
prove the leak, its cure, and the harm that they name.
"""
_ROW = re.compile(r"^\| `([\w.-]+)` \| (.*) \|$", re.MULTILINE)


def reference(page: str) -> str:
    """Return docs/reference.md with a row for every command, cause and probe, and for no other."""
    page = _with_rows(
        _with_commands(page), "cause", {name: cause.about or _about(cause.evaluate) for name, cause in CAUSES.items()}
    )
    page = _with_rows(page, "probe", {name: _about(probe.parse) for name, probe in PROBES.items()})
    new = (_setting(table, unsaid(keys.values())) for table, keys in all_keys(shipped().settings).items())
    return re.sub(r"(?<=^\| setting \|)(.*\n(?:\|.*\n)+)", lambda found: found[0] + "".join(new), page, flags=re.M)


def _with_commands(page: str) -> str:
    """Return the page with a row for every command."""
    start, rows, rest = re.split(r"(?<=^\| command \|)(.*\n(?:\|.*\n)+)", page, maxsplit=1, flags=re.M)
    listed = set(re.findall(r"^\| `zombie ([a-z]+)", rows, re.MULTILINE))
    modules = {module.__name__.rsplit(".", 1)[-1]: module for module in COMMANDS}
    modules |= {name: import_module(module) for name, module in shipped().commands.items() if " " not in name}
    shown = {below.prog.removeprefix("zombie ") for below in every_parser(parser())}  # old names go on, not shown
    new = (
        f"| `zombie {name}` | {_first_sentence(inspect.getdoc(module) or '').partition(': ')[2]} |\n"
        for name, module in modules.items()
        if name in shown and name not in listed
    )
    return start + rows + "".join(new) + rest


def readings(page: str) -> str:
    """Return docs/readings.md with a part for every probe, and in it a row for every field of its reading."""
    head, *parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    known = {part.split()[1]: part for part in parts}
    words = {name: text.partition(" | ")[2] for name, text in _ROW.findall(page)}
    written = (_part(probe, known.get(name), words) for name, probe in sorted(PROBES.items()))
    return head + "\n".join(part for part in written if part)


def unsaid(keys: Iterable[Key]) -> list[Key]:
    """Return those settings of a table that no page explains, within backquotes."""
    said = "\n".join(page.read_text() for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))))

    def is_said(name: str) -> bool:
        return not name or re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`|^{name} =", said, re.M) is not None

    return [key for key in keys if not (is_said(key.environment) and is_said(key.toml.rpartition(".")[2]))]


def _setting(table: str, missing: list[Key]) -> str:
    if not missing:
        return ""
    names = [f"`{key.environment}`" for key in missing if key.environment]
    keys = [key.toml.rpartition(".")[2] for key in missing if key.toml]
    in_file = [f"`[{table}]` with {', '.join(f'`{key}`' for key in keys)}" if table else f"`{keys[0]}`"] if keys else []
    where = ", ".join(["environment"] * bool(names) + ["`zombie.toml`"] * bool(keys))
    says = " ".join(dict.fromkeys(key.help for key in missing if not key.only_in_file)) or f"what belongs to {table}"
    return f"| {', '.join([*names, *in_file])} | {where} | {_plain(says)} | |\n"


def _about(function: Callable[..., Any]) -> str:
    return inspect.getdoc(sys.modules[function.__module__]) or ""


def _with_rows(page: str, heading: str, members: Mapping[str, str]) -> str:
    start, rows, rest = re.split(rf"(?<=^\| {heading} \|)(.*\n\|[-|]+\|\n(?:\|.*\n)+)", page, maxsplit=1, flags=re.M)
    first, rule, *old = rows.splitlines()
    kept = {row[1]: row[0] for line in old if (row := _ROW.fullmatch(line)) is not None and row[1] in members}
    new = {name: f"| `{name}` | {_first_sentence(about)} |" for name, about in members.items() if name not in kept}
    return start + "\n".join([first, rule, *kept.values(), *new.values()]) + "\n" + rest


def proven(_: str) -> str:
    """Return docs/proven.md: a row for each fault, what each kernel made of it, and the causes that have none."""
    table = read_table(proven_file())
    rows, to_run = {row.key: row for row in table.rows}, {proving.key for proving in to_prove()}
    machines = {(each.suite, cgroups): f"{each.kernel}, {cgroups}" for each in MACHINES for cgroups in each.cgroups}
    head = ["fault", "what the verdict said of it", "cured by", *machines.values()]
    lines = [head, ["---"] * len(head)]
    for fault in dict.fromkeys(trial.fault for trial in TRIALS):
        cells = [rows.get((fault, *each)) or ("not run" if (fault, *each) in to_run else "") for each in machines]
        if found := [row for row in cells if isinstance(row, ProvenRow)]:
            lines.append([*_proven_fault(found), *(_healed(row) for row in cells)])
    by_kernel = sorted(table.rows, key=lambda row: row.systemd)
    not_here = dict(table.not_here)
    untried = [f"`{name}`" for name in CAUSES if name not in {row.cause for row in table.rows} | not_here.keys()]
    return (
        _PROVEN
        + "".join(f"| {' | '.join(line)} |\n" for line in lines)
        + f"\nKernels: {', '.join(dict.fromkeys(f'{row.kernel} with systemd {row.systemd}' for row in by_kernel))}.\n"
        + "\n## Not proven here\n\n"
        + _NO_HELD_CORE
        + "\nThese cannot be made in a virtual machine.\n\n"
        + "".join(f"- `{name}`: {why}.\n" for name, why in not_here.items())
        + (f"\n## Not tried yet\n\nNo row covers {', '.join(untried)}.\n" if untried else "")
    )


def _proven_fault(rows: Sequence[ProvenRow]) -> tuple[str, str, str]:
    best = next((row for row in reversed(rows) if row.status != GONE), rows[0])
    named = f"`{best.fault}`" if best.fault == best.cause else f"`{best.fault}` (`{best.cause}`)"
    return named, best.harm.replace("|", "\\|"), " → ".join(f"`{action}`" for action in best.cure) or "its own undo"


def _healed(row: ProvenRow | str) -> str:
    if isinstance(row, str):
        return row
    return "does not arise" if row.status == GONE else f"{row.healed} of {row.runs}{', undone' * row.undone}"


def _part(probe: Probe, old: str | None, words: Mapping[str, str]) -> str:
    fields = fields_of(probe.reading)
    if not fields:
        return ""
    intro = old.partition("\n| ")[0] if old else f"## {probe.name}\n\n{probe.title[0].upper()}{probe.title[1:]}.\n"
    rows = [
        f"| `{probe.name}.{name}` | {KINDS[kind]} | {words.get(f'{probe.name}.{name}') or says(probe.reading, name)} |"
        for name, kind in fields.items()
    ]
    return "\n".join([intro, "| field | kind | what it is |", "|---|---|---|", *rows]) + "\n"


def says(reading: type[Any], field: str) -> str:
    """Return what the reading's own file says of a field.

    Raises: LookupError when it says nothing.
    """
    if field == "source":
        return "the node's own lines"
    if isinstance(attribute := getattr(reading, field, None), property):
        text = inspect.getdoc(attribute) or ""
    else:
        comment = re.search(rf"^    {field}: .*?  # (.+)$", inspect.getsource(reading), re.MULTILINE)
        text = comment[1] if comment else ""
    if not text:
        where = f"{field} of {reading.__name__} in {reading.__module__}"
        raise LookupError(f"{where} does not say what it is: write a comment beside it, and run {COMMAND} again")
    return _plain(text.splitlines()[0])


def _first_sentence(text: str) -> str:
    return _plain(re.split(r"(?<=\.)\s", text, maxsplit=1)[0].replace("\n", " "))


def _plain(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}".rstrip(".").replace("|", "\\|")


PAGES: Mapping[str, Callable[[str], str]] = {
    "docs/reference.md": reference,
    "docs/readings.md": readings,
    "docs/proven.md": proven,
    "deploy/zombie.toml": sample,
}


def main() -> None:
    """Write what is not as it should be, and say which."""
    for name, made in PAGES.items():
        before = (ROOT / name).read_text() if (ROOT / name).exists() else ""
        if (after := made(before)) != before:
            (ROOT / name).write_text(after)
            print(f"{name} was written")


if __name__ == "__main__":
    main()
