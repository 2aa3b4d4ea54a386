"""`zombie growth`: how fast leaks on nodes grow, and when they do harm."""

from __future__ import annotations

import argparse

from bot.commands import options

_ABOUT = (
    "Say how fast counts on nodes have grown (dying memory cgroups), with the interval, and when they do harm. "
    "It reads only the record: `zombie serve` and `zombie check --open` keep a count with every check."
)
_EXAMPLES = """exit status: 0 printed (2: the record has no counts of such a node)

examples:
  zombie growth                       every node with counts, the nearest to harm first
  zombie growth 'ray-gpu-*' --json
  zombie growth role=gpu              labels, pod/NAME and job/NAME, by the inventory; without any NODE, every node
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(commands, "growth", "how fast a leak grows, and when it does harm", _ABOUT, _EXAMPLES)
    options.add_nodes(parser, "*")
    options.add_places(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print it. Raises: UsageError where a word matches no node with counts; LedgerUnavailable."""
    from bot.app.growth import grown
    from bot.commands import record
    from bot.surfaces.growth import growth_document, growth_text

    with record.existing(arguments.environ) as database:
        trends = grown(database, arguments.nodes, _meant(arguments))
    print(growth_document(trends) if arguments.json else growth_text(trends), end="")
    return 0


def _meant(arguments: argparse.Namespace) -> dict[str, frozenset[str]]:
    """The nodes of labels and workloads; names and globs mean those of the record, gone ones too."""
    from bot.domain.selector import Kind, Selector

    asked = [word for word in arguments.nodes if Selector.of(word).kind in (Kind.LABELS, Kind.WORKLOAD)]
    if not asked:
        return {}
    from bot.app.selecting import selected

    settings = options.settings(arguments)
    known = options.inventory(arguments, settings)
    found = {}
    for word in asked:
        nodes = selected([word], known, settings, arguments.environ, arguments.namespace)
        found[word] = frozenset(node.name for node in nodes)
    return found
