"""Whole nodes that are written in files: what was changed of a machine, and what may be said of it.

A node begins with `= title | machine | statuses | causes`, and what else may be said, `plan: disable mask`, divided by
bars too: as the fields of `Asked`. A machine is one of `kinds`, `rhel7(kubernetes=True)`. Each further line changes it:
a call of `Machine` or of HELPERS, `.waiting(14, "java")`; what is true otherwise, `.facts(virt="lxc")`; or a line of
the kernel's log with how long ago it was logged, `7m  text`. `8 12x30s  text` is twelve of them, the newest 8 s ago and
the others 30 s apart, and `{n}` counts up.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.contract.asked import Asked, scheduled, shown, uncounted
from tests.contract.test_verdicts_once_wrong import agent_churns, harmed
from tests.independent import kinds
from tests.independent.cgroups import ecs_loops, kubelet_holds, starves
from tests.independent.machine import Machine

FOLDER = Path(__file__).with_name("made")
HELPERS: dict[str, Callable[..., Machine]] = {
    each.__name__: each
    for each in (ecs_loops, kubelet_holds, starves, harmed, uncounted, shown, scheduled, agent_churns)
}
_LINE = re.compile(r"(?P<ago>-?[0-9.]+)(?P<unit>[mhd]?)(?: (?P<count>[0-9]+)x(?P<every>[0-9.]+)s)?  (?P<text>.+)")
_UNITS = {"": 1, "m": 60, "h": 3600, "d": 86400}
_ANSWERS = {"yes": True, "no": False}


def made(name: str) -> list[Asked]:
    """Return the nodes of a file, in its order."""
    blocks = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n= ")[1:]
    return [_node(*(line for line in block.split("\n") if line and not line.startswith("#"))) for block in blocks]


def _node(head: str, *lines: str) -> Asked:
    title, kind, status, cause, *more = head.split(" | ")
    name, args, keywords = next(_calls(kind if kind.endswith(")") else f"{kind}()"))
    machine: Machine = Machine(**keywords) if name == "any" else getattr(kinds, name)(*args, **keywords)
    for line in "\n".join(lines).replace("\n    ", " ").split("\n"):
        if said := _LINE.fullmatch(line):
            ago, text = float(said["ago"]) * _UNITS[said["unit"]], said["text"]
            if said["count"]:
                machine.log_every(ago, float(said["every"]), int(said["count"]), text)
            else:
                machine.log((ago, text))
            continue
        for name, args, keywords in _calls(f"machine{line}"):
            if name == "facts":
                vars(machine.facts).update(keywords)
            elif name in HELPERS:
                HELPERS[name](machine, *args, **keywords)
            else:
                getattr(machine, name)(*args, **keywords)
    known: dict[str, Any] = {key: _ANSWERS.get(said, said) for key, said in (each.split(": ", 1) for each in more)}
    return Asked(title, machine, status, cause, **known)


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
