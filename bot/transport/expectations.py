"""The causes that people expect of cases: `expected.toml` in their folder, with a table for each case's file.

    ["7k3m9x2qpv--node-123.jsonl"]
    cause = "leaked-memory-cgroups"       # or "none": the verdict should name no cause

Defined in: TOML 1.0, https://toml.io/en/v1.0.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.domain.errors import CaseError
from bot.domain.problems import Problems
from bot.domain.safe_text import one_line
from bot.domain.toml_text import is_absent, read_toml_file
from bot.transport.case_file import replace_file

FILE = "expected.toml"
NONE = "none"
MOST_BYTES = 1024 * 1024
_HEAD = "# What the verdict of each case should be: a cause, or none. Read by: zombie backtest\n"


def expected(folder: Path) -> Mapping[str, str]:
    """Return the expected cause of each case of a folder, by the file's name; empty if none is expected.

    Raises: CaseError when the file cannot be read, is malformed, or names a case that is not there.
    """
    path = folder / FILE
    if is_absent(path):
        return {}
    tables = read_toml_file(path, "it", MOST_BYTES, Problems(str(path), CaseError)).data
    return {name: _cause(path, name, table) for name, table in tables.items()}


def expect(folder: Path, name: str, cause: str) -> Path:
    """Store a case's expected cause, replacing the earlier; return the file's path.

    Raises: CaseError when the file cannot be written, or the existing file cannot be read.
    """
    tables = {**expected(folder), name: cause}
    rows = [f"\n[{json.dumps(case)}]\ncause = {json.dumps(said)}\n" for case, said in sorted(tables.items())]
    return replace_file(folder / FILE, _HEAD + "".join(rows))


def _cause(path: Path, name: str, table: Any) -> str:
    where = f"{path}: {one_line(name, 80)}"
    if not isinstance(table, dict) or table.keys() != {"cause"} or not isinstance(table["cause"], str):
        raise CaseError(f"{where} is not of the form [“FILE”] cause = “CAUSE” or “none”.")
    if "/" in name or name.startswith(".") or not (path.parent / name).is_file():
        raise CaseError(f"{where} is not a case of this folder.", "Remove its table, or restore the case.")
    return str(table["cause"])
