"""`zombie playbooks stats`: how often each cause's verdicts were right, as people marked them."""

from __future__ import annotations

import argparse

from bot.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb to `zombie playbooks`."""
    stats = options.verbs_of(commands, "playbooks").add_parser(
        "stats", help="how often each cause was right, as people marked its verdicts"
    )
    stats.add_argument("--json", action="store_true", help="print it as JSON")
    options.add_files(stats)
    stats.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print how often each cause was right.

    Raises: LedgerUnavailable when the record cannot be read.
    """
    from bot.app.policy_settings import policy_as_written
    from bot.commands import open_record
    from bot.extras.marks.marks import scores, uncounted
    from bot.extras.marks.stats import stats_body, stats_text
    from bot.extras.marks.store import MarkStore

    policy = policy_as_written(options.settings(arguments))
    with open_record.open_if_there(arguments.environ) as database:
        entries = MarkStore(database).read.now() if database is not None else ()
    found, others = scores(entries, policy), uncounted(entries, policy)
    options.print_result(arguments, stats_body(found, others), stats_text(found, others, options.width()))
    return 0
