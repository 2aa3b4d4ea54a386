"""`zombie report`: the whole story of an incident, to be forwarded."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.commands import options
from bot.domain.errors import InventoryError, UsageError

if TYPE_CHECKING:
    from bot.extras.reports.report_data import ReportData

_EXAMPLES = """examples:
  zombie report 7k3m9x2qpv                       writes report-7k3m9x2qpv.html into this folder
  zombie report 7k3m9x2qpv --out incident.html
  zombie report 7k3m9x2qpv --markdown >> post-incident.md

The page is self-contained: it opens without a network, runs no script but its own, and prints well.
GPU-hours are counted where the node has the label gpus = "8" (in the inventory, under [nodes.NAME.labels]).

exit status:
  0  the report is written
  2  there is no such incident, or the file cannot be written
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "report",
        "write an incident as a page or as Markdown, to be forwarded",
        "Write the whole story of an incident: verdict, evidence, what was ruled out, timeline, approvals, exact "
        "commands, before and after, what it cost, and the record's head. It needs only the database.",
        _EXAMPLES,
        group="record",
    )
    parser.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--out", type=Path, metavar="FILE.html", help="the file to write (else report-ID.html here)")
    forms.add_argument(
        "--markdown", action="store_true", help="print it as Markdown instead, for a post-incident document"
    )
    options.add_files(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the report.

    Raises: UnknownIncident when there is no such incident; UsageError when the file cannot be written.
    """
    from bot.extras.reports.report import whole_report

    data = _report_data(arguments)
    if arguments.markdown:
        from bot.extras.reports.markdown import markdown

        print(markdown(whole_report(replace(data, before_reboot=()))), end="")
        return 0
    from bot.extras.reports.page import page

    path = arguments.out or Path(f"report-{data.incident.id}.html")
    try:
        path.write_text(page(whole_report(data)), encoding="utf-8")
    except OSError as no:
        raise UsageError(f"{path} cannot be written: {no.strerror}.", "Name another file: --out FILE.html") from no
    print(path)
    return 0


def _report_data(arguments: argparse.Namespace) -> ReportData:
    from bot.app.factories import inventory, now
    from bot.commands import open_record
    from bot.extras.reports.report_maker import report_data

    settings = options.settings(arguments)
    incident = open_record.complete_id(arguments.environ, arguments.id)
    playbooks = options.library(settings)

    known = None
    if settings.inventory is not None:
        with contextlib.suppress(InventoryError):  # a report does not depend on it
            known = inventory(settings.inventory, arguments.environ)
    with open_record.open_existing(arguments.environ) as database:
        return report_data(database, incident, playbooks, now(), known, arguments.extras.on)
