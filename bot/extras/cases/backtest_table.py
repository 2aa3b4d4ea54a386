"""A backtest as a terminal, a pull request and a CI server see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from bot.domain.safe_text import counted, one_line, redacted_line
from bot.domain.verdict import Verdict
from bot.extras.cases.verdict_comparison import Cell, ChangedOutcome, ItemOutcome
from bot.surfaces.markdown_text import escape_markdown
from bot.surfaces.verdict_text import table_lines, wrapped
from bot.view.plan_words import PlanWords
from bot.view.words import cause_words

SCHEMA_VERSION = 1
SAME, FLIPS, NOT_JUDGED, WRONG, RIGHT = "same", "FLIPS", "-", "NOT AS EXPECTED", "as expected"


@dataclass(frozen=True, slots=True)
class BacktestTable:
    """The matrix of cases and playbooks."""

    cells: Sequence[Cell]
    words: PlanWords

    @property
    def flips(self) -> tuple[Cell, ...]:
        """The cells whose verdict flips."""
        return tuple(cell for cell in self.cells if cell.comparison.flips)

    @property
    def fails(self) -> bool:
        """True when a verdict flips that nobody expects to flip, or is not as expected."""
        return any(cell.fails for cell in self.cells)

    @property
    def _cells_shown(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell.comparison.flips or cell.fails)

    @property
    def _playbooks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.playbook for cell in self.cells))

    def headline(self) -> str:
        """Return the outcome as a sentence."""
        cases, playbooks = len({cell.case for cell in self.cells}), len(self._playbooks)
        among = f"{counted(cases, 'case')}, {counted(playbooks, 'playbook')}"
        expected = [cell.is_as_expected for cell in self.cells if cell.is_as_expected is not None]
        kept = f" {expected.count(True):,} of {counted(len(expected), 'expectation')} met." if expected else ""
        return f"{len(self.flips):,} of {len(self.cells):,} verdicts flip ({among}).{kept}"

    def text(self, width: int = 80) -> str:
        """Return the cases that flip as a table, and why each flips."""
        lines = [self.headline()]
        if self._cells_shown:
            lines += ["", *table_lines([("CASE", *self._playbooks), *self._table_rows()])]
        for cell in self._cells_shown:
            before, after, *because = self._difference_lines(cell)
            lines += ["", one_line(f"{cell.case}, by {cell.playbook}", 200)]
            lines += [
                *wrapped(f"before: {before}", width, "    ", "  "),
                *wrapped(f"after:  {after}", width, "    ", "  "),
            ]
            for line in because:
                lines += wrapped(line, width, "      ", "    - ")
        return "\n".join(lines) + "\n"

    def markdown(self) -> str:
        """Return the same for a pull request."""
        lines = ["### Backtest of playbooks", "", self.headline()]
        if self._cells_shown:
            lines += ["", *_markdown_head("case", *self._playbooks), *map(_markdown_row, self._table_rows())]
            lines += ["", *_markdown_head("case", "playbook", "before", "after", "because")]
        for cell in self._cells_shown:
            before, after, *because = self._difference_lines(cell)
            lines.append(_markdown_row((cell.case, cell.playbook, before, after, "; ".join(because))))
        return "\n".join(lines) + "\n"

    def junit(self) -> str:
        """Return a test case for each cell; a flip is a failure.

        Shape: JUnit's XML as CI servers read it: https://github.com/testmoapp/junitxml.
        """
        failed = [cell for cell in self.cells if cell.fails]
        failures = Counter(cell.playbook for cell in failed)
        counts = {"tests": str(len(self.cells)), "failures": str(len(failed))}
        root = ElementTree.Element("testsuites", {"name": "zombie backtest", **counts})
        for playbook in self._playbooks:
            cells = [cell for cell in self.cells if cell.playbook == playbook]
            about = {"name": playbook, "tests": str(len(cells)), "failures": str(failures[playbook])}
            suite = ElementTree.SubElement(root, "testsuite", about)
            for cell in cells:
                test = ElementTree.SubElement(
                    suite, "testcase", {"classname": playbook, "name": one_line(cell.case, 400)}
                )
                if cell.fails:
                    before, after, *because = self._difference_lines(cell)
                    failure = ElementTree.SubElement(test, "failure", {"message": f"{before} → {after}"})
                    failure.text = "\n".join(because)
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"

    def body(self) -> dict[str, Any]:
        """Return the whole matrix as JSON values."""
        return {
            "schema": SCHEMA_VERSION,
            "cases": len({cell.case for cell in self.cells}),
            "flips": len(self.flips),
            "results": [self._cell_document(cell) for cell in self.cells],
        }

    def _table_rows(self) -> Iterator[list[str]]:
        said_of = {(cell.case, cell.playbook): _cell_word(cell) for cell in self.cells}
        for case in dict.fromkeys(cell.case for cell in self._cells_shown):
            said = (said_of.get((case, playbook), NOT_JUDGED) for playbook in self._playbooks)
            yield [one_line(case, 120), *said]

    def _difference_lines(self, cell: Cell) -> Iterator[str]:
        """Yield the verdict before, the verdict after, and what made the difference."""
        found = cell.comparison
        yield self._verdict(found.before)
        yield self._verdict(found.after) + (f" (expected: {one_line(cell.expected, 80)})" if cell.expected else "")
        yield from (_changed_words(turned) for turned in found.turned)
        yield from (_redacted_text(sentence) for sentence in found.otherwise)

    def _verdict(self, verdict: Verdict) -> str:
        steps = [self.words.step(step) for step in verdict.plan.steps] if verdict.plan is not None else []
        parts = (verdict.status.value, cause_words(verdict), ", then ".join(steps))
        return one_line(", ".join(part for part in parts if part), 300)

    def _cell_document(self, cell: Cell) -> dict[str, Any]:
        found = cell.comparison
        because = list(self._difference_lines(cell))[2:]
        return {
            "case": one_line(cell.case, 400),
            "node": one_line(cell.node, 80),
            "playbook": cell.playbook,
            "against": cell.against,
            "flips": found.flips,
            "expected": cell.expected,
            "as_expected": cell.is_as_expected,
            "before": _outcome(found.before),
            "after": _outcome(found.after),
            "because": because if found.flips else [],
        }


def _cell_word(cell: Cell) -> str:
    if cell.is_as_expected is not None:
        return RIGHT if cell.is_as_expected else WRONG
    return FLIPS if cell.comparison.flips else SAME


def _outcome(verdict: Verdict) -> Mapping[str, str | None]:
    return {
        "status": verdict.status.value,
        "cause": verdict.cause,
        "confidence": verdict.confidence.value if verdict.confidence is not None else None,
        "plan": verdict.plan.digest if verdict.plan is not None else None,
    }


def _changed_words(turned: ChangedOutcome) -> str:
    changed = "".join(f"; {name}: {was} → {now}" for name, (was, now) in turned.changed.items())
    return _redacted_text(f"{turned.name}: {_outcome_words(turned.before)} → {_outcome_words(turned.after)}{changed}")


def _outcome_words(outcome: ItemOutcome) -> str:
    return f"{outcome.stands} ({redacted_line(outcome.says)})" if outcome.says else outcome.stands


def _redacted_text(text: str) -> str:
    return redacted_line(text, 600)  # a case may come from an untrusted place


def _markdown_head(*titles: str) -> Iterator[str]:
    yield _markdown_row(titles)
    yield "|" + " --- |" * len(titles)


def _markdown_row(cells: Iterable[str]) -> str:
    """A row without markup: a case's words may come from an untrusted place."""
    return "| " + " | ".join(escape_markdown(one_line(cell, 900)) for cell in cells) + " |"
