"""What a person asks of a fleet in a chat, as a value, and as the short text in a button.

A button's text is not trusted: it is parsed as if the person had typed it. It can only have nodes read, and a cure
proposed, which another person approves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from bot.domain.errors import UsageError
from bot.domain.json_form import read
from bot.domain.sample import Sample
from bot.domain.selector import Selector, valid_namespace

MOST_WORDS = 40
LONGEST = 1_900  # Slack takes 2,000 characters of a button's value
_DASHES = str.maketrans({"—": "--", "–": "--"})  # what keyboards make of two dashes


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """Which nodes, which causes, how many of them, and how.

    Shape: `kind` is "fleet", "check" (an incident each), "diff" (those with the first cause, beside the others) or
    "wave" (a cure for those with the cause, proposed).
    """

    words: tuple[str, ...]
    causes: tuple[str, ...] = ()
    sample: str = ""
    full: bool = False
    namespace: str = ""
    kind: str = "fleet"

    @classmethod
    def typed(cls, words: Sequence[str], kind: str = "fleet") -> FleetRequest:
        """Return the request in the words after `/zombie fleet`.

        Raises: UsageError, which says how to write it.

        Example:
        >>> FleetRequest.typed(["role=gpu", "--cause", "disk-full", "--sample", "5%"]).causes
        ('disk-full',)
        """
        selectors, causes, ask = list[str](), list[str](), cls((), kind=kind)
        rest = [word.translate(_DASHES) if word[:1] in "—–" else word for word in words]
        while rest:
            word = rest.pop(0)
            if word == "--full":
                ask = replace(ask, full=True)
            elif word in ("--cause", "--sample", "-n", "--namespace"):
                if not rest:
                    raise UsageError(f"{word} of what?", "Say `/zombie fleet role=gpu --cause SLUG --sample 5%`.")
                value = rest.pop(0)
                if word == "--cause":
                    causes.append(value)
                else:
                    ask = replace(ask, sample=value) if word == "--sample" else replace(ask, namespace=value)
            else:
                selectors.append(word)
        return replace(ask, words=tuple(dict.fromkeys(selectors)), causes=tuple(dict.fromkeys(causes))).checked()

    @classmethod
    def of(cls, text: str) -> FleetRequest:
        """Return the request in a button's text. Raises: UsageError when no button of the bot has it."""
        try:
            body = json.loads(text)
            ask = read(cls, body)
        except (ValueError, RecursionError) as no:  # of no form, too
            raise UsageError("The bot does not know that button.") from no
        if body.get("control"):  # of an older program's card
            raise UsageError("Control groups of waves are gone.", "Press *Plan* again: the wave is for every node.")
        return ask.checked()

    @property
    def whole_text(self) -> str:
        """The request as text, without defaults."""
        usual = FleetRequest(())
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        kept = {name: value for name, value in given.items() if value != getattr(usual, name)}
        return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)

    @property
    def text(self) -> str:
        """The text for a button; empty where it would be too long."""
        return whole if len(whole := self.whole_text) <= LONGEST else ""

    @property
    def says(self) -> str:
        """What was asked for, as it is typed."""
        causes = [f"--cause {cause}" for cause in self.causes]
        sample = [f"--sample {self.sample}"] if self.sample else []
        namespace = [f"-n {self.namespace}"] if self.namespace else []
        return " ".join([*self.words, *namespace, *causes, *sample, *(["--full"] if self.full else [])])

    @property
    def command(self) -> str:
        """The same request as a terminal command."""
        verb = {"check": "check", "wave": "wave start"}.get(self.kind, "fleet")
        return f"zombie {verb} {self.says}"

    def checked(self) -> FleetRequest:
        """Return this request. Raises: UsageError where a part of it is meaningless."""
        if not self.words:
            raise UsageError("Which nodes?", "Say `/zombie fleet role=gpu`, or a glob such as `ray-gpu-*`.")
        if len(self.words) > MOST_WORDS:
            raise UsageError(f"{len(self.words)} selectors are too many; the limit is {MOST_WORDS}.")
        for word in self.words:
            Selector.of(word)
        if self.namespace:
            valid_namespace(self.namespace)
        if self.sample:
            Sample.of(self.sample)
        if self.kind not in ("fleet", "check", "diff", "wave") or (self.kind == "wave" and not self.causes):
            raise UsageError("The bot does not know that button.")
        return self
