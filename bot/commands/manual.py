"""`zombie manual`: the man page, made from the program's parsers and settings.

Source: man-pages(7) for the sections, groff_man(7) for the macros.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from bot.app.version import version
from bot.commands import options
from bot.commands.completion import every_parser

# Characters that roff would read as a request or print differently: such a command could not be copied.
SPECIAL = {"\\": r"\e", "-": r"\-", '"': r"\(dq", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = options.add_parser(
        commands,
        "manual",
        "print the man page",
        "Print the manual of every command as a man page.",
        "examples:\n  zombie manual | man -l -\n  zombie manual > /usr/local/share/man/man1/zombie.1",
        group="run",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the man page."""
    print(man_page(arguments.command_line("zombie")), end="")
    return 0


def man_page(parser: argparse.ArgumentParser) -> str:
    """Return the page, in roff, without a date, so that the same program has the same page."""
    return "\n".join([*_first_sections(parser), *_commands(parser), *_environment(), *_last_sections()]) + "\n"


def _first_sections(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f'.TH ZOMBIE 1 "" "zombie {version()}" "User Commands"'
    yield from (".SH NAME", r"zombie \- say what is wrong with a sick Linux node, with proof")
    yield from (".SH SYNOPSIS", ".nf", *_roff_lines(_usage(parser)), ".fi")
    yield from (".SH DESCRIPTION", _roff_text(parser.description or ""), ".PP", _roff_text(parser.epilog or ""))


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield ".SH COMMANDS"
    for below in list(every_parser(parser))[1:]:
        yield from (f'.SS "{_roff_text(below.prog)}"', ".nf", *_roff_lines(_usage(below)), ".fi", ".PP")
        yield _roff_text(below.description or _summary(parser, below))
        for action in below._actions:
            if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
                yield from (".TP", rf"\fB{_roff_text(_argument_name(action))}\fR", _roff_text(_argument_help(action)))
        if below.epilog:
            yield from (".PP", ".nf", *_roff_lines(below.epilog), ".fi")


def _environment() -> Iterator[str]:
    from bot.app.extras import shipped
    from bot.settings import all_keys

    yield from (".SH ENVIRONMENT", "Each may also be a file of that name in the folder CREDENTIALS_DIRECTORY.")
    helps = {key.environment: key.help for table in all_keys(shipped().settings).values() for key in table.values()}
    for name in sorted(filter(None, helps)):
        yield from (".TP", rf"\fB{name}\fR", _roff_text(helps[name]))


def _last_sections() -> Iterator[str]:
    yield from (".SH FILES", ".TP", r"\fBinventory.toml\fR", "The nodes: names, addresses, labels, and how to log in.")
    yield from (".TP", r"\fBzombie.toml\fR", r"The settings; \fBzombie settings\fR prints those in force.")
    yield from (".TP", r"\fB$ZOMBIE_STATE_DIR/zombie.db\fR", "The record of incidents, where no database is named.")
    yield from (".SH SEE ALSO", r"\fBssh_config\fR(5), \fBsudoers\fR(5), \fBperf\fR(1)")


def _summary(parser: argparse.ArgumentParser, below: argparse.ArgumentParser) -> str:
    """A verb's line in its command's list, for verbs without a description."""
    for some in every_parser(parser):
        for action in some._actions:
            if isinstance(action, argparse._SubParsersAction):
                for pseudo in action._choices_actions:
                    if action.choices[pseudo.dest] is below:
                        return pseudo.help or ""
    return ""


def _usage(parser: argparse.ArgumentParser) -> str:
    """Its usage line, with the same width on every terminal."""
    formatter = argparse.HelpFormatter(parser.prog, width=76)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    return formatter.format_help().rstrip()


def _argument_name(action: argparse.Action) -> str:
    shown = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        return shown
    if action.choices:
        shown = "{" + ",".join(map(str, action.choices)) + "}"
    taken = "" if action.nargs == 0 else f" {shown}"
    return ", ".join(action.option_strings) + taken


def _argument_help(action: argparse.Action) -> str:
    said = (action.help or "").replace("%(default)s", str(action.default))
    return said.replace("%%", "%")


def _roff_text(text: str) -> str:
    """A text for roff: without requests, and with dashes that can be copied."""
    flat = re.sub(r"\s+", " ", text).strip()
    return next(_roff_lines(flat), "")


def _roff_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        safe = "".join(SPECIAL.get(letter, letter) if letter.isascii() else _roff_escape(letter) for letter in line)
        yield rf"\&{safe}" if safe.startswith(".") else safe


def _roff_escape(letter: str) -> str:
    return rf"\[u{ord(letter):04X}]"
