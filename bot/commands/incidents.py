"""`zombie incidents`: list incidents, or show an incident with all its entries."""

from __future__ import annotations

import argparse

from bot.commands import options

_EXAMPLES = """examples:
  zombie incidents --open
  zombie incidents show ID --json
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "incidents",
        "list incidents, or show an incident with all its entries",
        "List the incidents on record, the newest first. It needs only the database.",
        _EXAMPLES,
        group="record",
    )
    parser.add_argument("--open", action="store_true", help="only incidents that have not ended")
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    parser.set_defaults(run=run_list)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")
    show = verbs.add_parser("show", help="show an incident: every entry, and the verdict")
    show.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    # Any other default would override a --json before the verb.
    show.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print it as JSON")
    show.set_defaults(run=run_show)


def run_list(arguments: argparse.Namespace) -> int:
    """Print the list."""
    from bot.commands import open_record
    from bot.surfaces.incidents import incidents_body, incidents_text

    options.escape_unencodable_output()
    summaries = open_record.incidents(arguments.environ, arguments.open)
    options.print_result(arguments, incidents_body(summaries), incidents_text(summaries))
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    """Print an incident.

    Raises: UnknownIncident when there is no such incident.
    """
    from bot.commands import open_record
    from bot.domain.fold import fold, impossible_on_error
    from bot.surfaces.incidents import incident_body, incident_text
    from bot.view.context import ViewContext

    options.escape_unencodable_output()
    entries = open_record.story(arguments.environ, open_record.complete_id(arguments.environ, arguments.id))
    incident = fold(entries)
    with impossible_on_error(f"Incident {incident.id} cannot be shown"):
        text = incident_text(incident, entries, context=ViewContext(words=options.plan_words()))
        options.print_result(arguments, incident_body(incident, entries), text)
    return 0
