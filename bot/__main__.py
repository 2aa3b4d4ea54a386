"""The terminal: parse, call, print."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import errno
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.domain.errors import LedgerError, Refused, UnknownIncident, UsageError, ZombieError

if TYPE_CHECKING:
    from bot.app.extras import ExtrasInForce

NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
CRASHED = 70  # from sysexits.h: neither a verdict nor a usage error
ALLOCATIONS_BETWEEN_LOOKS = 10_000  # of the garbage collector; at Python's 700 it takes a tenth of every start


def parser(program: str = "zombie", extras: ExtrasInForce | None = None, first: str = "") -> argparse.ArgumentParser:
    """Build the command line; `program` is how it is called.

    Shape: where `first`, its first word, is a command of the core, only what extras add to that is loaded; one that
    cannot be loaded is named on stderr and left out.
    """
    from bot.app.extras import shipped
    from bot.commands import COMMANDS
    from bot.commands.parser import Parser
    from bot.domain.safe_text import one_line

    top = Parser(
        prog=program,
        description="Log in to a sick node, read what matters, and say what is wrong with it: a verdict with proof.",
        epilog="Try `zombie demo` first: it needs no account, no root and no network.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and end")
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    here = extras if extras is not None else shipped()
    for words, module in here.commands.items():
        if first not in commands.choices or words.split()[0] == first:
            try:
                importlib.import_module(module).add(commands)
            except (Exception, SystemExit) as no:  # noqa: BLE001 - the program runs without an extra that is wrong
                said = one_line(f"{type(no).__name__}: {no}", 300)
                print(f"zombie: {words} cannot be loaded, and is left out ({said})", file=sys.stderr)
    return top


class _Version(argparse.Action):
    """`--version`: git is asked for it only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from bot.app.version import program_name

        print(program_name(), flush=True)  # here, so that a failed write is reported
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status."""
    from bot.app.extras import extras_in_force
    from bot.commands.parser import program_as_called
    from bot.commands.terminal_login import complete

    _open_closed_streams()
    gc.set_threshold(ALLOCATIONS_BETWEEN_LOOKS)
    atexit.register(gc.freeze)  # the kernel takes all memory back: a last look for garbage takes 80 ms
    complete(os.environ, os.getuid())
    command = program_as_called(os.environ)
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        extras = extras_in_force(words, os.environ, Path.cwd())
        for name, why in extras.left_out.items():
            if name not in extras.chosen:
                print(f"zombie: the extra {name} is left out: {why}", file=sys.stderr)
        if extras.wanted:
            from bot.app.plugins import enable_plugins

            enable_plugins(extras.wanted - extras.off)
        arguments = parser(command, extras, next(iter(words), "")).parse_args(argv)
        arguments.environ = os.environ  # read here, handed down from here
        arguments.extras = extras
        arguments.command_line = parser
        if os.environ.get("ZOMBIE_LISTEN"):  # any command reports a wrong environment variable
            from bot.settings import check_address

            check_address(os.environ)
        status: int = arguments.run(arguments)
        sys.stdout.flush()  # here, so that a failed write is reported too
    except (UsageError, LedgerError, Refused) as error:
        return _say_why_not(error, command)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of the output left, as in `zombie … | head`
        _let_go_of_stdout()  # what is still to be written would make Python exit with 120
        sys.stderr.close()
        return 141
    # A crash must not look like a verdict: Python itself would exit with 1.
    except Exception as error:  # noqa: BLE001
        return _failed(error)
    return status


def _open_closed_streams() -> None:
    """Open the null device for a standard stream that is closed (`>&-`, `<&-`), for which Python has None.

    Otherwise its number goes to the next file that is opened, such as the ledger, and what is printed may go there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _say_why_not(error: ZombieError, command: str) -> int:
    """Say why it is not done and what to try, a refusal with its name; return the exit status."""
    from bot.commands.parser import as_called
    from bot.domain.safe_text import redacted_text, safe

    named = f"{error.name}: " if isinstance(error, Refused) else ""
    # A sentence may name a file, or quote a setting or a case that came from a stranger.
    print(f"zombie: {named}{redacted_text(safe(as_called(error.sentence, command)))}", file=sys.stderr)
    lists = "zombie incidents lists them." if isinstance(error, UnknownIncident) else ""
    if try_next := error.try_next or lists:
        print(f"        {safe(as_called(try_next, command))}", file=sys.stderr)
    return 1 if isinstance(error, Refused) else 2


def _failed(error: Exception) -> int:
    """Say why a command failed: a sentence for a fault of the machine, a traceback for a bug."""
    from bot.domain.safe_text import one_line, redacted_text, safe

    _let_go_of_stdout()
    found = next((leaf for leaf in _single_errors(error) if isinstance(leaf, OSError | UnicodeEncodeError)), None)
    match found:
        case BrokenPipeError():  # the reader left while several tasks were running
            sys.stderr.close()
            return 141
        case UnicodeEncodeError():
            letter = ascii(found.object[found.start])
            print(f"zombie: The output takes no {letter}: its encoding is {found.encoding}.", file=sys.stderr)
            print("        Set PYTHONIOENCODING=utf-8, or a locale like LC_ALL=C.UTF-8.", file=sys.stderr)
        case OSError(filename=None):
            what = "The output cannot be written" if found.errno in NOT_WRITTEN else "The machine refuses"
            print(f"zombie: {what}: {found.strerror or type(found).__name__}.", file=sys.stderr)
        case OSError():
            said = f"{one_line(str(found.filename), 200)}: {found.strerror or type(found).__name__}"
            print(f"zombie: {said}.", file=sys.stderr)
            print("        Name another file or folder, or give this user access to it.", file=sys.stderr)
        case _:
            print(redacted_text(safe("".join(traceback.format_exception(error)))), end="", file=sys.stderr)
            print("zombie: That is a bug in the program, not a verdict: please report it.", file=sys.stderr)
            return CRASHED
    return 2


def _single_errors(error: BaseException) -> Iterator[BaseException]:
    """The errors, also from an exception group."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _single_errors(part)
    else:
        yield error


def _let_go_of_stdout() -> None:
    """Flush the rest of stdout, or drop it: otherwise Python tries again at exit, and complains."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
