"""Whole nodes that are written in files: what was changed of a machine, line by line, and what may be said of it.

A node begins with `= title | machine | …`; what stands behind the machine is for who asks, some of it by name, as in
`plan: disable mask`. A machine is one of `kinds`, `rhel7(kubernetes=True)`, and `any` is a `Machine`. Each further line
changes it: a call of `Machine` or of HELPERS, `.waiting(14, "java")`; what is true otherwise, `.facts(virt="lxc")`; or
a line of the kernel's log with how long ago it was logged, `7m  text`. `8 12x30s  text` is twelve of them, the newest
8 s ago and the others 30 s apart, and `{n}` counts up; `4x .core({n+40}, usr=9)` is of the cores 40 to 43. What is too
long for a line goes on below, after four blanks.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.independent import cgroups, kinds
from tests.independent.label import Label
from tests.independent.machine import Machine

Helper = Callable[..., Machine]
HELPERS: dict[str, Helper] = {name: each for name, each in vars(cgroups).items() if inspect.isfunction(each)}
_LINE = re.compile(r"(?P<ago>-?[0-9.]+)(?P<unit>[mhd]?)(?: (?P<count>[0-9]+)x(?P<every>[0-9.]+)s)?  (?P<text>.+)")
_TIMES = re.compile(r"(?P<count>[0-9]+)x (?P<calls>\..+)")
_NUMBER = re.compile(r"\{n(?:\+([0-9]+))?\}")
_SAID = re.compile(r"(why|corrected): (.+)")
_UNITS = {"": 1, "m": 60, "h": 3600, "d": 86400}
_ANSWERS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Row:
    """A node as its file has it: `said` in order, and `named` by name."""

    title: str
    machine: Machine
    said: tuple[str, ...]
    named: Mapping[str, Any]


def rows(path: Path, helpers: Mapping[str, Helper] = HELPERS) -> list[Row]:
    """Return the nodes of a file, in its order."""
    return [row(block, helpers) for block in f"\n{path.read_text(encoding='utf-8')}".split("\n= ")[1:]]


def row(block: str, helpers: Mapping[str, Helper] = HELPERS) -> Row:
    """Return the node of a block, which begins behind the `= `."""
    head, *lines = (line for line in block.replace("\n    ", " ").split("\n") if line and not line.startswith("#"))
    title, kind, *more = head.split(" | ")
    named = {key: _ANSWERS.get(said, said) for key, _, said in (each.partition(": ") for each in more) if said}
    name, args, keywords = next(_calls(kind if kind.endswith(")") else f"{kind}()"))
    machine: Machine = Machine(**keywords) if name == "any" else getattr(kinds, name)(*args, **keywords)
    for line in lines:
        if said := _SAID.fullmatch(line):
            named[said[1]] = said[2]
        elif logged := _LINE.fullmatch(line):
            ago, text = float(logged["ago"]) * _UNITS[logged["unit"]], logged["text"]
            if logged["count"]:
                machine.log_every(ago, float(logged["every"]), int(logged["count"]), text)
            else:
                machine.log((ago, text))
        else:
            for name, args, keywords in _calls(f"machine{_repeated(line)}"):
                if name == "facts":
                    vars(machine.facts).update(keywords)
                elif name in helpers:
                    helpers[name](machine, *args, **keywords)
                else:
                    getattr(machine, name)(*args, **keywords)
    return Row(title, machine, tuple(each for each in more if ": " not in each), named)


def _repeated(line: str) -> str:
    """Return the calls of a line, of which it may say how many they are."""
    if (times := _TIMES.fullmatch(line)) is None:
        return line
    return "".join(_numbered(times["calls"], n) for n in range(int(times["count"])))


def _numbered(calls: str, n: int) -> str:
    return _NUMBER.sub(lambda more: str(n + int(more[1] or 0)), calls)


def labels(folder: Path) -> list[Label]:
    """Return the labels of a folder, in which a file holds those about the cause that it is called by."""
    return [_label(path.stem, each) for path in sorted(folder.glob("*.txt")) for each in rows(path)]


def _label(about: str, read: Row) -> Label:
    (causes,), named = read.said, dict(read.named)
    plan = frozenset(named.pop("plan", "").split())
    return Label(about, read.title, read.machine, () if causes == "-" else tuple(causes.split()), plan=plan, **named)


def _calls(text: str) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield name and arguments of each call of a chain, the first of them first."""
    found = ast.parse(text, mode="eval").body
    chain = []
    while isinstance(found, ast.Call):
        chain.append(found)
        assert isinstance(found.func, (ast.Attribute, ast.Name)), text
        found = found.func.value if isinstance(found.func, ast.Attribute) else found.func
    for call in reversed(chain):
        assert isinstance(call.func, (ast.Attribute, ast.Name)), text
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        keywords: dict[str, Any] = {}
        for each in call.keywords:
            value = ast.literal_eval(each.value)
            keywords |= value if each.arg is None else {each.arg: value}
        yield name, [ast.literal_eval(each) for each in call.args], keywords
