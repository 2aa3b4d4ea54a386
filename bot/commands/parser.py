"""The command line's parser, and commands as they are called here."""

from __future__ import annotations

import argparse
import functools
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from bot.domain.nearest import did_you_mean, nearest
from bot.domain.safe_text import one_line

GONE = {  # commands that were taken away, and where what they told stands now
    "growth": "growth is gone: zombie check --json, cards and reports say how fast a leak grows.",
    "playbooks unmissed": "playbooks unmissed is gone: zombie backtest CASES --playbooks DIR compares verdicts.",
    "capture approve": "capture approve is gone: a capture needs no yes. Ask for it again: zombie capture start NODE",
    "capture decline": "capture decline is gone: a capture needs no yes. To end one: zombie capture stop ID",
}


HELP_GROUP = "help_group"  # of a command's defaults: where the list of commands has it
GROUPS = ("start here", "look", "act", "record", "rules", "run")  # of the list of commands; one without any is run's


def program_as_called(environ: Mapping[str, str]) -> str:
    """Return how this program is called here: `./zombie` by the launcher of a checkout, else `zombie`."""
    return environ.get("ZOMBIE_COMMAND") or "zombie"


def as_called(text: str, command: str) -> str:
    """Write commands in a text as they are called here.

    Example:
    >>> as_called("zombie check finds zombie cgroups; `zombie doctor`", "./zombie")
    './zombie check finds zombie cgroups; `./zombie doctor`'
    """
    return re.sub(rf"(?<![\w./-])zombie(?= (?:{_command_names()})\b)", lambda _: command, text)


@functools.cache
def _command_names() -> str:
    from bot.app.extras import shipped
    from bot.commands import COMMANDS  # not above: each command imports this file

    every = [*(known.__name__.rpartition(".")[2] for known in COMMANDS), *shipped().commands]
    return "|".join(dict.fromkeys(words.split()[0] for words in every))


class Parser(argparse.ArgumentParser):
    """A parser that suggests the command, option or word that may have been meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse; arguments unknown to this command are its error, not the whole program's."""
        self.given = list(sys.argv[1:] if args is None else args)
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def format_help(self) -> str:
        """Return the help, with commands as they are called here; those of the program in their groups."""
        groups = self._action_groups
        by_use = [shown for group in groups for shown in self._grouped_by_use(group)]
        self._action_groups = sorted(by_use, key=lambda group: group is self._optionals)  # after the commands
        try:
            return as_called(super().format_help(), self.prog.partition(" ")[0])
        finally:
            self._action_groups = groups

    def _grouped_by_use(self, group: argparse._ArgumentGroup) -> Iterator[argparse._ArgumentGroup]:
        """A group of the help as it is, or the program's commands by `GROUPS`."""
        lists = next((each for each in group._group_actions if isinstance(each, argparse._SubParsersAction)), None)
        if lists is None or lists.metavar != "COMMAND":
            yield group
            return
        for title in GROUPS:
            shown = argparse._ArgumentGroup(self, title)
            shown._group_actions = [
                each
                for each in lists._choices_actions
                if (lists.choices[each.dest].get_default(HELP_GROUP) or GROUPS[-1]) == title
            ]
            yield shown

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help and version at once: argparse hides that they could not be written."""
        if file is sys.stdout:
            print(message, end="", flush=True)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        """Exit with a sentence and status 2."""
        if found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message, re.DOTALL):
            gone = GONE.get(f"{self.prog.partition(' ')[2]} {found[1]}".strip())
            known = re.findall(r"'([^']*)'", found[2]) or found[2].split(", ")
            no_such = f"there is no “{one_line(found[1], 60)}”. {did_you_mean(found[1], known)}"
            message = gone or f"{message[: found.start()]}{no_such}"
        # argparse names the function that reads the number.
        if failed := re.search(r"invalid (\w+) value: ['\"](.*)['\"]\Z", message, re.DOTALL):
            kind = "number" if failed[1] in ("float", "seconds") else "whole number"
            message = f"{message[: failed.start()]}“{one_line(failed[2], 60)}” is not a {kind}"
        if early := self._too_early():
            message = f"{early} is an option of a command, and stands after it"
        elif message.endswith("required: COMMAND"):
            if not self.given:
                self.print_help()
                self.exit(2)  # nothing was asked, and 0 would say that all is well
            message = f"which command? {self.prog} --help lists them"
            if self.given and self.given[0] not in self._option_string_actions:
                message = f"unrecognized arguments: {self.given[0]}"
        elif message.endswith("required: VERB"):
            message = f"which verb? {self.prog} --help lists them"
        elif "are required: " in message and (greedy := self._takes_all()):
            message += f". Write that before {greedy}, which takes every word after it"
        if wrong := message.partition("unrecognized arguments: ")[2].split():
            option = next((word for word in wrong if word.startswith("-")), "").partition("=")[0]
            near = nearest(option, self._option_string_actions) if option else ()
            message += f". Did you mean {' or '.join(near)}?" if near else ""
        super().error(message)

    def _too_early(self) -> str:
        """Return the option that was given before the command, if only commands have it; else nothing."""
        first = next(iter(self.given), "").partition("=")[0]
        if first in self._option_string_actions:
            return ""
        lists = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        commands = [command for action in lists if action.metavar == "COMMAND" for command in action.choices.values()]
        return first if any(first in command._option_string_actions for command in commands) else ""

    def _takes_all(self) -> str:
        """Return the given option that takes any number of words; else nothing."""
        takers = (action for action in self._actions if action.nargs in ("+", "*") and action.option_strings)
        return next((name for taker in takers for name in taker.option_strings if name in self.given), "")
