"""`zombie lab`: virtual nodes with a real kernel, and real faults for them."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from bot.commands import options
from bot.commands.parser import program_as_called

EXAMPLES = """examples:
  zombie lab up --cgroups v1                         a node; the image is built once (about a minute)
  zombie check lab-1 --inventory $(zombie lab inventory)
  zombie lab fault lab-1 leaked-memory-cgroups       a real leak; --undo stops it
  zombie lab prove --kernel 6.1                      proves causes and cures; goes on where it was interrupted
  zombie lab down                                    removes everything but the cached image
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "lab",
        "boot virtual nodes with a real kernel, and give them real faults",
        "Boot virtual nodes on this machine (Linux, no KVM needed) and give them real faults.",
        EXAMPLES,
        group="run",
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    up = verbs.add_parser("up", help="build the image once, boot nodes, print a command that checks them")
    up.add_argument("--nodes", type=options.positive, default=1, metavar="N", help="how many (default 1)")
    up.add_argument("--cgroups", choices=("v1", "v2"), default="v2", help="the cgroup hierarchy (default v2)")
    up.add_argument("--memory", type=_memory, default=1024, metavar="MIB", help="of each node (default 1024)")
    up.add_argument("--cpus", type=options.positive, default=2, metavar="N", help="of each node (default 2)")
    up.add_argument("--suite", default="bookworm", metavar="NAME", help="the Debian release (default bookworm)")
    up.add_argument("--kind", type=_kind_is_gone, help=argparse.SUPPRESS)
    up.set_defaults(run=run_up)
    verbs.add_parser("inventory", help="print the path of the nodes' inventory").set_defaults(run=run_inventory)
    fault = verbs.add_parser("fault", help="give a node a fault, or remove it")
    fault.add_argument("node", metavar="NODE")
    fault.add_argument("name", metavar="NAME", nargs="?", help="the fault; without a name all are listed")
    fault.add_argument("--undo", action="store_true", help="remove the fault")
    fault.set_defaults(run=run_fault)
    prove = verbs.add_parser("prove", help="prove causes and cures on real kernels, and write the table of proofs")
    prove.add_argument("--kernel", action="append", default=[], metavar="N", help="only this kernel, such as 6.1")
    prove.add_argument("--cause", action="append", default=[], metavar="NAME", help="only this cause, or this fault")
    prove.add_argument("--cgroups", choices=("v1", "v2"), help="only this cgroup hierarchy")
    prove.add_argument("--again", action="store_true", help="also what a row has proven already")
    prove.add_argument("--list", action="store_true", help="only say what would be proven, and which rows stand")
    prove.add_argument("--table", type=Path, metavar="FILE", help="the table (default: the playbooks')")
    prove.set_defaults(run=run_prove)
    down = verbs.add_parser("down", help="stop every node and delete what the lab wrote")
    down.add_argument("--images", action="store_true", help="delete the cached images too")
    down.set_defaults(run=run_down)


def _kind_is_gone(_: str) -> None:
    raise argparse.ArgumentTypeError("every node has a kernel of its own now: leave --kind out")


def run_up(arguments: argparse.Namespace) -> int:
    """Boot the nodes. An interrupt cleans up."""
    from bot.app.lab import lab, recipe
    from bot.lab.lab import LabRequest
    from bot.lab.virtual_machine import Hardware

    request = LabRequest(arguments.nodes, arguments.cgroups, Hardware(arguments.memory, arguments.cpus))
    for number in (signal.SIGTERM, signal.SIGHUP):  # the same as Ctrl-C
        signal.signal(number, signal.default_int_handler)
    here = lab(arguments.environ)
    nodes = here.up(recipe(arguments.suite), request)
    command = program_as_called(arguments.environ)
    print(f"{command} check {nodes[0].name} --inventory {here.inventory}")
    return 0


def run_inventory(arguments: argparse.Namespace) -> int:
    """Print the inventory's path."""
    from bot.app.lab import lab

    print(lab(arguments.environ).inventory)
    return 0


def run_fault(arguments: argparse.Namespace) -> int:
    """Make or undo a fault, and print the proof; return 1 without a proof."""
    from bot.app.lab import lab
    from bot.lab.fault import FAULTS, find

    if arguments.name is None:
        for fault in FAULTS.values():
            print(f"{fault.name:<34} {fault.says}")
        return 0
    fault = find(arguments.name)
    node = lab(arguments.environ).node(arguments.node)
    outcome = fault.undo(node) if arguments.undo else fault.make(node)
    print(outcome.says, file=sys.stdout if outcome.proven else sys.stderr)
    return 0 if outcome.proven else 1


def run_prove(arguments: argparse.Namespace) -> int:
    """Prove what no row proves yet; return 1 if anything was not proven. An interrupt cleans up; rows stay."""
    from bot.app.prove import prove
    from bot.lab.prove import to_prove
    from bot.response.proven_cures import proven_file, read_table

    table = arguments.table or proven_file()
    whole = tuple(to_prove(arguments.kernel, arguments.cause, arguments.cgroups))
    if arguments.list:
        rows = read_table(table) if table.exists() else None
        for what in whole:
            row = what.row_in(rows) if rows is not None else None
            print(f"{what.says}: {'not proven' if row is None else 'stands'}")
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):  # the same as Ctrl-C
        signal.signal(number, signal.default_int_handler)
    try:
        return 1 if prove(whole, table, arguments.again, arguments.environ) else 0
    except KeyboardInterrupt:
        options.print_remark("interrupted; what is proven stands, and the same command goes on.")
        raise


def run_down(arguments: argparse.Namespace) -> int:
    """Shut the lab down."""
    from bot.app.lab import lab

    here = lab(arguments.environ)
    number = here.down()
    print(f"{number} nodes stopped" if number else "no lab was up")
    if arguments.images:
        here.forget_images()
    return 0


def _memory(text: str) -> int:
    number = int(text)
    if not 256 <= number <= 65536:
        raise argparse.ArgumentTypeError("a node has 256 to 65536 MiB")
    return number
