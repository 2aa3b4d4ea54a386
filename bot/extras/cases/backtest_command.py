"""`zombie backtest`: which verdicts flip before a changed playbook is merged."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from bot.commands import options

EXAMPLES = """examples:
  zombie backtest cases/ --playbooks mine/          where mine/ differs from the shipped playbooks
  zombie backtest cases/ --playbooks mine/ --against theirs/
                                                       where it differs from the shipped playbooks and theirs/
  zombie backtest cases/ --playbooks mine/ --junit out.xml --markdown out.md

Each case is judged by the playbooks of DIR that differ from the shipped playbook of the same name, and by its own where
that inherits a change; -p NAME selects a playbook. A new playbook is compared with the case's own. A verdict flips when
status, cause, confidence or plan differs; below it are the outcomes of its causes before and after. Where expected.toml
beside a case says which cause is right (zombie playbooks keep), the verdict is compared with that instead.

exit status:
  0  no verdict flips, except as expected
  1  a verdict flips, or is not as expected
  2  the command line, a playbook or a case is wrong
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "backtest",
        "say which verdicts on recorded cases flip with changed playbooks",
        "Judge recorded cases by the present and by changed playbooks; list where the verdicts differ, and why.",
        EXAMPLES,
        group="rules",
    )
    parser.add_argument("cases", nargs="+", type=Path, metavar="CASES", help="a folder of cases, or a case")
    parser.add_argument(
        "--playbooks", type=Path, metavar="DIR", action="append", required=True, help="the changed playbooks"
    )
    parser.add_argument(
        "--against", type=Path, metavar="DIR", action="append", default=[], help="further playbooks before the change"
    )
    parser.add_argument("-p", "--playbook", dest="only", metavar="NAME", help="compare this playbook only")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings, as TOML (else ./zombie.toml)")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit's XML, a flip as a failure")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write Markdown, for a pull request")
    parser.add_argument("--json", action="store_true", help="print the whole matrix as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what flips.

    Raises: CaseError for the first case that cannot be read, PlaybookError for the first playbook: nothing is printed.
    """
    from bot.extras.cases.backtest_table import BacktestTable
    from bot.extras.cases.backtesting import PlaybooksChange, run_backtest
    from bot.transport import case_file

    files = tuple(case_file.files(arguments.cases))
    usual = options.settings(arguments).playbook
    change = PlaybooksChange(tuple(arguments.playbooks), usual, tuple(arguments.against), arguments.only or "")
    table = BacktestTable(run_backtest(change, files, os.cpu_count() or 1), options.plan_words())
    for path, written in ((arguments.junit, table.junit), (arguments.markdown, table.markdown)):
        if path is not None:
            path.write_text(written(), encoding="utf-8")
    nothing = "The playbooks judge as before: there is nothing to compare."
    text = table.text(options.width(100)) if table.cells else nothing
    options.print_result(arguments, table.body(), text)
    return 1 if table.fails else 0
