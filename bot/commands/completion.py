"""`zombie completion`: what a shell needs to complete commands, options, files and the names of nodes.

Source: shtab, which makes it from the parsers of the command line.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.commands import options

SHELLS = ("bash", "zsh", "tcsh")

# Only names that no shell interprets are offered. The program is called by the path on the command line.
NAMES = r"""nodes 2>/dev/null | grep -aoE '^[A-Za-z0-9][A-Za-z0-9._:@-]*'"""
PREAMBLE = {
    "bash": f"""
_zombie_node_names() {{
  local name
  "${{COMP_WORDS[0]}}" {NAMES} | while IFS= read -r name; do
    [[ $name == "$1"* ]] && printf '%s\\n' "$name"
  done
}}
""",
    "zsh": f"""
_zombie_node_names() {{
  local -a names
  names=(${{(f)"$("$service" {NAMES})"}})
  compadd -a names
}}
""",
}
NODES = {"bash": "_zombie_node_names", "zsh": "_zombie_node_names", "tcsh": ""}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "completion",
        "print a script that completes commands and nodes in a shell",
        "Print a script for a shell. It completes commands, options, files and, in bash and zsh, the nodes of the "
        "inventory in force.",
        'examples:\n  eval "$(zombie completion bash)"              in ~/.bashrc\n'
        "  zombie completion zsh > ~/.zfunc/_zombie      with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc\n"
        "  zombie completion tcsh > ~/.zombie.tcsh       with source ~/.zombie.tcsh in ~/.tcshrc",
        group="run",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=" or ".join(SHELLS))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script for a shell."""
    print(script(arguments.command_line("zombie"), arguments.shell))
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell in `SHELLS`, from the program's parser, which this changes."""
    import shtab  # loaded only when a script is printed

    for some in every_parser(parser):
        _say_what_completes(some)
    preamble: Any = PREAMBLE  # a mapping by shell; the wrapped function's type loses that
    return shtab.complete(parser, shell=shell, preamble=preamble)


def every_parser(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser, and those of its commands and their verbs that help shows."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for shown in action._choices_actions:  # an old name is in none of its lists
                yield from every_parser(action.choices[shown.dest])


def _say_what_completes(parser: argparse.ArgumentParser) -> None:
    import shtab

    for action in parser._actions:
        # shtab reads it from there; argparse has no field for it.
        words: Any = action
        if isinstance(action, argparse._SubParsersAction):
            for pseudo in action._choices_actions:  # a whole line; shtab would take the first line of a paragraph
                action.choices[pseudo.dest].description = pseudo.help
        elif action.type is Path:
            words.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
        elif action.dest in ("nodes", "node") and not action.option_strings:
            words.complete = NODES
