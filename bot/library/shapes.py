"""The shape of a playbook's file: a dataclass per table, with the text that editors show for each key.

The validation uses pydantic-core schemas over plain dataclasses, because pydantic's models take a tenth of a second to
import and build before every check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeAlias

from pydantic_core import core_schema as core

CoreSchema: TypeAlias = core.CoreSchema

SLUG = r"^[a-z][a-z0-9-]{0,63}$"
WORD = r"^[a-z][a-z0-9_]{0,63}$"
_NAMES, _TABLE = "<names>", "<table>"  # tags for the two ways to write causes; no key can have these names


def key(text: str, *default: Any) -> Any:
    """A field with its description for editors, and its default if it is optional."""
    return field(default=default[0], metadata={"says": text}) if default else field(metadata={"says": text})


@dataclass(frozen=True, slots=True)
class ThresholdShape:
    """A number that a verdict depends on, and the reason for it."""

    value: float = key("The number, in the unit that its name gives.")
    reason: str = key("Why this number: what is normal, and where it was measured.")


@dataclass(frozen=True, slots=True)
class CauseShape:
    """How this playbook uses a cause."""

    remedy: list[str] | None = key("Actions that may be offered, in order: disable or mask before reboot.", None)
    lasting_fix: str | None = key("What keeps it from coming back, in one line: the image, the kernel.", None)
    thresholds: Mapping[str, ThresholdShape] | None = key("The cause's thresholds by name.", None)
    allow: list[str] | None = key(
        "Of unused-agent-enabled: the units that may start at boot, whole names or patterns with `*`; others fail.",
        None,
    )


@dataclass(frozen=True, slots=True)
class EvidenceShape:
    """What a cause's file says is seen, and when."""

    says: str = key("The sentence; values stand within braces: {conntrack.count:,}.")
    name: str | None = key("The observation's short name; without one it is only a sentence of the summary.", None)
    when: str | None = key("The expression that has to be true; always, without one.", None)
    each: str | None = key("Once for each of several: `volume in ebs.volumes`.", None)
    lines: str | None = key("The node's own lines that show it.", None)
    confidence: str | None = key("The confidence it gives: confirmed (the default), likely or possible.", None)


@dataclass(frozen=True, slots=True)
class OtherwiseShape:
    """What holds where nothing was seen: why the cause is ruled out or cannot be here, or what leaves it open."""

    ruled_out: str | None = key("Why the node does not have it, with the figure.", None)
    does_not_apply: str | None = key("What is not here that could have it, or that could show it.", None)
    undecided: str | None = key("Why it is open.", None)
    when: str | None = key("The expression that has to be true; always, without one.", None)
    unread: str | None = key("The probe that has to be unread; the reason why is added to the sentence.", None)
    decided_by: str | None = key("What would decide it, in a few words.", None)
    worst: str | None = key("The gravest status that is still possible, if it is less than critical: degraded.", None)


@dataclass(frozen=True, slots=True)
class CauseFile:
    """A cause's file."""

    cause: str = key("The cause's name: lower-case letters, digits and dashes.")
    title: str = key("The cause in plain words.")
    about: str = key("What is wrong on a node that has it, and why it is judged so.")
    lasting_fix: str = key("What keeps it from coming back, in one line.")
    evidence: list[EvidenceShape] = key("What is seen on a node that has it.")
    otherwise: list[OtherwiseShape] = key("What holds where nothing of it was seen: the first that applies.")
    examples: list[Mapping[str, Any]] = key("Readings, and what the cause comes to: they are its tests.")
    thresholds: Mapping[str, ThresholdShape] | None = key("The figures that decide, each with its reason.", None)
    let: Mapping[str, str] | None = key("Names for expressions.", None)
    critical: str | None = key("When a node that has it is critical; without it, it is degraded.", None)
    summary: str | None = key("The sentence that sums it up, in place of the evidence's own.", None)
    settled_by: str | None = key("What would settle it where it is not confirmed: completes “… would settle it”.", None)
    beside: list[str] | None = key("Readings that count where a playbook reads them, and need not be read.", None)
    single_look: bool = key("Whether one look tells, without a window.", False)
    of_one: bool = key("Whether it concerns a unit or workload, not the node.", False)


@dataclass(frozen=True, slots=True)
class ConditionShape:
    """A condition that the playbook defines."""

    name: str = key("The condition's name, which its evidence shows.")
    when: str = key("An expression over readings' fields, like `cgroups.dying > 1000 and cpu.iowait_percent < 5`.")
    says: str = key("What it means when it is true, as a sentence.")
    status: str | None = key("The node's status when it is true; without a status it is only mentioned.", None)
    cause: str | None = key("The cause that it indicates: a built-in cause, or your own.", None)
    confidence: str | None = key("The confidence it gives: confirmed, likely (the default) or possible.", None)


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field of a probe's reading: where it is in the output, and its type."""

    type: str = key("number, text or bool.")
    regex: str | None = key("RE2; its first group, or the whole match, in the first line that matches.", None)
    json: str | None = key("A path into JSON output, keys and list positions with dots between: `a.b.0.c`.", None)


@dataclass(frozen=True, slots=True)
class ProbeShape:
    """A simple probe: a command that only reads, and the fields in its output."""

    name: str = key("The probe's name, which conditions use.")
    command: list[str] = key("Program and arguments, as a list: no shell runs it, and nothing is expanded.")
    fields: Mapping[str, FieldShape] = key("The reading's fields by name.")
    title: str | None = key("What it asks, in a few words.", None)
    look: str = key("once, or twice: at the start and at the end of the sampling window.", "once")
    limit: str | float | None = key("The command is stopped after this time: `4s` (the default), at most 10s.", None)
    output_limit: str | int | None = key(
        "With more output than this it is unread: `64kB` (default), at most 256kB.", None
    )


@dataclass(frozen=True, slots=True)
class PlaybookShape:
    """A playbook: the probes to run, the causes to evaluate with their thresholds, the remedies that may be offered."""

    name: str = key("The playbook's name.")
    title: str = key("What it is for, in a few words.")
    version: int = key("Increased with every change that may change a verdict.")
    description: str | None = key("What it is for, and when to use it.", None)
    extends: str | None = key(
        "Another playbook: what is not given here comes from it, also within the causes of both.", None
    )
    all_but: list[str] | None = key(
        "Every probe and cause of the program comes too, after those named here, but not these, "
        "nor causes that lack a probe.",
        None,
    )
    probes: list[str] | None = key("The probes to run; those of define_probes always run.", None)
    must_read: list[str] | None = key("Probes without which the node cannot be called healthy.", None)
    causes: list[str] | Mapping[str, CauseShape | None] | None = key(
        "The causes to evaluate, in order: the first cause found names the verdict.", None
    )
    conditions: list[ConditionShape] | None = key("Conditions that the playbook defines.", None)
    define_probes: list[ProbeShape] | None = key("Simple probes of your own.", None)


SHAPES = (ThresholdShape, CauseShape, ConditionShape, FieldShape, ProbeShape, PlaybookShape)


def _table(kind: type[Any], **schemas: CoreSchema) -> CoreSchema:
    """The schema of a dataclass: its fields in order, those with a default optional, nothing else allowed."""
    arguments = []
    for column in fields(kind):
        schema = schemas[column.name]
        if column.default is not MISSING:
            schema = core.with_default_schema(schema, default=column.default)
        arguments.append(core.dataclass_field(column.name, schema, kw_only=True))
    names = [column.name for column in fields(kind)]
    inner = core.dataclass_args_schema(kind.__name__, arguments, extra_behavior="forbid")
    return core.dataclass_schema(kind, inner, names, slots=True, frozen=True)


def _one_of(*words: str) -> CoreSchema:
    return core.literal_schema(list(words))


def _choice(value: Any) -> str:
    return _TABLE if isinstance(value, dict) else _NAMES


def core_schema(of_cause: bool = False) -> CoreSchema:
    """The schema of a playbook's file, or of a cause's."""
    text = core.str_schema(strict=True, min_length=1, max_length=2000, strip_whitespace=True)
    slug, word = (core.str_schema(strict=True, pattern=pattern) for pattern in (SLUG, WORD))
    number = core.float_schema(strict=True, allow_inf_nan=False)
    maybe = core.nullable_schema

    def many(item: CoreSchema, most: int, least: int = 0) -> CoreSchema:
        return core.list_schema(item, strict=True, min_length=least, max_length=most)

    def by_name(name: CoreSchema, value: CoreSchema, least: int = 0, most: int = 200) -> CoreSchema:
        return core.dict_schema(name, value, strict=True, min_length=least, max_length=most)

    threshold = _table(ThresholdShape, value=number, reason=text)
    cause = _table(
        CauseShape,
        remedy=maybe(many(text, 6)),
        lasting_fix=maybe(text),
        thresholds=maybe(by_name(text, threshold)),
        allow=maybe(many(text, 500, least=1)),
    )
    causes = core.tagged_union_schema({_NAMES: many(text, 200), _TABLE: by_name(text, maybe(cause))}, _choice)
    if of_cause:
        line = core.str_schema(strict=True, min_length=1)
        evidence = _table(
            EvidenceShape,
            says=text,
            name=maybe(text),
            when=maybe(line),
            each=maybe(line),
            lines=maybe(line),
            confidence=maybe(_one_of("confirmed", "likely", "possible")),
        )
        otherwise = _table(
            OtherwiseShape,
            ruled_out=maybe(text),
            does_not_apply=maybe(text),
            undecided=maybe(text),
            when=maybe(line),
            unread=maybe(word),
            decided_by=maybe(text),
            worst=maybe(_one_of("degraded")),
        )
        return _table(
            CauseFile,
            cause=slug,
            title=text,
            about=text,
            lasting_fix=text,
            evidence=many(evidence, 30, least=1),
            otherwise=many(otherwise, 30, least=1),
            examples=many(by_name(text, core.any_schema()), 100, least=1),
            thresholds=maybe(by_name(word, threshold)),
            let=maybe(by_name(word, line)),
            critical=maybe(line),
            summary=maybe(text),
            settled_by=maybe(text),
            beside=maybe(many(word, 20)),
            single_look=core.bool_schema(strict=True),
            of_one=core.bool_schema(strict=True),
        )
    condition = _table(
        ConditionShape,
        name=slug,
        when=core.str_schema(strict=True, min_length=1),
        says=text,
        status=maybe(_one_of("degraded", "critical")),
        cause=maybe(slug),
        confidence=maybe(_one_of("confirmed", "likely", "possible")),
    )
    one_field = _table(
        FieldShape,
        type=_one_of("number", "text", "bool"),
        regex=maybe(core.str_schema(strict=True, min_length=1, max_length=500)),
        json=maybe(core.str_schema(strict=True, min_length=1, max_length=500)),
    )
    probe = _table(
        ProbeShape,
        name=word,
        command=many(core.str_schema(strict=True, max_length=1000), 60, least=1),
        fields=by_name(word, one_field, least=1, most=30),
        title=maybe(text),
        look=_one_of("once", "twice"),
        limit=maybe(core.union_schema([core.str_schema(strict=True), number])),
        output_limit=maybe(core.union_schema([core.str_schema(strict=True), core.int_schema(strict=True)])),
    )
    return _table(
        PlaybookShape,
        name=slug,
        title=text,
        version=core.int_schema(strict=True, ge=1, le=1_000_000),
        description=maybe(core.str_schema(strict=True, max_length=4000, strip_whitespace=True)),
        extends=maybe(slug),
        all_but=maybe(many(text, 200)),
        probes=maybe(many(text, 200)),
        must_read=maybe(many(text, 200)),
        causes=maybe(causes),
        conditions=maybe(many(condition, 200)),
        define_probes=maybe(many(probe, 50)),
    )
