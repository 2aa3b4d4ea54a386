"""The shape of a playbook's file: a dataclass per table; each key has its schema, and its text for editors.

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

_TEXT = core.str_schema(strict=True, min_length=1, max_length=2000, strip_whitespace=True)
_LINE = core.str_schema(strict=True, min_length=1)  # an expression
_PATTERN = core.str_schema(strict=True, min_length=1, max_length=500)
_SLUG, _WORD = (core.str_schema(strict=True, pattern=pattern) for pattern in (SLUG, WORD))
_NUMBER = core.float_schema(strict=True, allow_inf_nan=False)
_FLAG = core.bool_schema(strict=True)
_CONFIDENCE = core.literal_schema(["confirmed", "likely", "possible"])


def key(schema: CoreSchema, text: str, *default: Any, of: type[Any] | None = None) -> Any:
    """A field with its schema, its description for editors, and its default if it is optional.

    Shape: `of` is the shape of the tables in it, which stand there by name or in a list.
    """
    metadata = {"schema": schema, "says": text, "of": of}
    return field(default=default[0], metadata=metadata) if default else field(metadata=metadata)


def many(item: CoreSchema, most: int, least: int = 0) -> CoreSchema:
    """A list."""
    return core.list_schema(item, strict=True, min_length=least, max_length=most)


def by_name(name: CoreSchema, value: CoreSchema, least: int = 0, most: int = 200) -> CoreSchema:
    """A table whose keys are names."""
    return core.dict_schema(name, value, strict=True, min_length=least, max_length=most)


def table(kind: type[Any]) -> CoreSchema:
    """The schema of a shape: its fields in order, those with a default optional, nothing else allowed."""
    arguments = []
    for column in fields(kind):
        schema = column.metadata["schema"]
        if column.default is None:
            schema = core.nullable_schema(schema)
        if column.default is not MISSING:
            schema = core.with_default_schema(schema, default=column.default)
        said = {"pydantic_js_updates": {"description": column.metadata["says"]}}
        arguments.append(core.dataclass_field(column.name, schema, kw_only=True, metadata=said))
    names = [column.name for column in fields(kind)]
    inner = core.dataclass_args_schema(kind.__name__, arguments, extra_behavior="forbid")
    return core.dataclass_schema(kind, inner, names, slots=True, frozen=True)


def shape_of_table(path: tuple[str | int, ...], kind: type[Any]) -> type[Any]:
    """Return the shape of the table at a path below a shape: a key, the name or place of a table in it, and so on."""
    for name in path[: len(path) // 2 * 2 : 2]:
        inside = next((column.metadata["of"] for column in fields(kind) if column.name == name), None)
        kind = inside or kind
    return kind


@dataclass(frozen=True, slots=True)
class ThresholdShape:
    """A number that a verdict depends on, and the reason for it."""

    value: float = key(_NUMBER, "The number, in the unit that its name gives.")
    reason: str = key(_TEXT, "Why this number: what is normal, and where it was measured.")


_THRESHOLDS = by_name(_TEXT, table(ThresholdShape))


@dataclass(frozen=True, slots=True)
class CauseShape:
    """How this playbook uses a cause."""

    remedy: list[str] | None = key(
        many(_TEXT, 6), "Actions that may be offered, in order: disable or mask before reboot.", None
    )
    lasting_fix: str | None = key(_TEXT, "What keeps it from coming back, in one line: the image, the kernel.", None)
    thresholds: Mapping[str, ThresholdShape] | None = key(
        _THRESHOLDS, "The cause's thresholds by name.", None, of=ThresholdShape
    )
    allow: list[str] | None = key(
        many(_TEXT, 500, least=1),
        "Of unused-agent-enabled: the units that may start at boot, whole names or patterns with `*`; others fail.",
        None,
    )


@dataclass(frozen=True, slots=True)
class EvidenceShape:
    """What a cause's file says is seen, and when."""

    says: str = key(_TEXT, "The sentence; values stand within braces: {conntrack.count:,}.")
    name: str | None = key(
        _TEXT, "The observation's short name; without one it is only a sentence of the summary.", None
    )
    when: str | None = key(_LINE, "The expression that has to be true; always, without one.", None)
    each: str | None = key(_LINE, "Once for each of several: `volume in ebs.volumes`.", None)
    lines: str | None = key(_LINE, "The node's own lines that show it.", None)
    confidence: str | None = key(
        _CONFIDENCE, "The confidence it gives: confirmed (the default), likely or possible.", None
    )


@dataclass(frozen=True, slots=True)
class OtherwiseShape:
    """What holds where nothing was seen: why the cause is ruled out or cannot be here, or what leaves it open."""

    ruled_out: str | None = key(_TEXT, "Why the node does not have it, with the figure.", None)
    does_not_apply: str | None = key(_TEXT, "What is not here that could have it, or that could show it.", None)
    undecided: str | None = key(_TEXT, "Why it is open.", None)
    when: str | None = key(_LINE, "The expression that has to be true; always, without one.", None)
    unread: str | None = key(_WORD, "The probe that has to be unread; the reason why is added to the sentence.", None)
    decided_by: str | None = key(_TEXT, "What would decide it, in a few words.", None)
    worst: str | None = key(
        core.literal_schema(["degraded"]),
        "The gravest status that is still possible, if it is less than critical: degraded.",
        None,
    )


@dataclass(frozen=True, slots=True)
class CauseFile:
    """A cause's file."""

    cause: str = key(_SLUG, "The cause's name: lower-case letters, digits and dashes.")
    title: str = key(_TEXT, "The cause in plain words.")
    about: str = key(_TEXT, "What is wrong on a node that has it, and why it is judged so.")
    lasting_fix: str = key(_TEXT, "What keeps it from coming back, in one line.")
    evidence: list[EvidenceShape] = key(
        many(table(EvidenceShape), 30, least=1), "What is seen on a node that has it.", of=EvidenceShape
    )
    otherwise: list[OtherwiseShape] = key(
        many(table(OtherwiseShape), 30, least=1),
        "What holds where nothing of it was seen: the first that applies.",
        of=OtherwiseShape,
    )
    examples: list[Mapping[str, Any]] = key(
        many(by_name(_TEXT, core.any_schema()), 100, least=1),
        "Readings, and what the cause comes to: they are its tests.",
    )
    thresholds: Mapping[str, ThresholdShape] | None = key(
        by_name(_WORD, table(ThresholdShape)), "The figures that decide, each with its reason.", None, of=ThresholdShape
    )
    let: Mapping[str, str] | None = key(by_name(_WORD, _LINE), "Names for expressions.", None)
    critical: str | None = key(_LINE, "When a node that has it is critical; without it, it is degraded.", None)
    summary: str | None = key(_TEXT, "The sentence that sums it up, in place of the evidence's own.", None)
    settled_by: str | None = key(
        _TEXT, "What would settle it where it is not confirmed: completes “… would settle it”.", None
    )
    beside: list[str] | None = key(
        many(_WORD, 20), "Readings that count where a playbook reads them, and need not be read.", None
    )
    single_look: bool = key(_FLAG, "Whether one look tells, without a window.", False)
    of_one: bool = key(_FLAG, "Whether it concerns a unit or workload, not the node.", False)


@dataclass(frozen=True, slots=True)
class ConditionShape:
    """A condition that the playbook defines."""

    name: str = key(_SLUG, "The condition's name, which its evidence shows.")
    when: str = key(
        _LINE, "An expression over readings' fields, like `cgroups.dying > 1000 and cpu.iowait_percent < 5`."
    )
    says: str = key(_TEXT, "What it means when it is true, as a sentence.")
    status: str | None = key(
        core.literal_schema(["degraded", "critical"]),
        "The node's status when it is true; without a status it is only mentioned.",
        None,
    )
    cause: str | None = key(_SLUG, "The cause that it indicates: a built-in cause, or your own.", None)
    confidence: str | None = key(
        _CONFIDENCE, "The confidence it gives: confirmed, likely (the default) or possible.", None
    )


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field of a probe's reading: where it is in the output, and its type."""

    type: str = key(core.literal_schema(["number", "text", "bool"]), "number, text or bool.")
    regex: str | None = key(_PATTERN, "RE2; its first group, or the whole match, in the first line that matches.", None)
    json: str | None = key(
        _PATTERN, "A path into JSON output, keys and list positions with dots between: `a.b.0.c`.", None
    )


@dataclass(frozen=True, slots=True)
class ProbeShape:
    """A simple probe: a command that only reads, and the fields in its output."""

    name: str = key(_WORD, "The probe's name, which conditions use.")
    command: list[str] = key(
        many(core.str_schema(strict=True, max_length=1000), 60, least=1),
        "Program and arguments, as a list: no shell runs it, and nothing is expanded.",
    )
    fields: Mapping[str, FieldShape] = key(
        by_name(_WORD, table(FieldShape), least=1, most=30), "The reading's fields by name.", of=FieldShape
    )
    title: str | None = key(_TEXT, "What it asks, in a few words.", None)
    look: str = key(
        core.literal_schema(["once", "twice"]),
        "once, or twice: at the start and at the end of the sampling window.",
        "once",
    )
    limit: str | float | None = key(
        core.union_schema([core.str_schema(strict=True), _NUMBER]),
        "The command is stopped after this time: `4s` (the default), at most 10s.",
        None,
    )
    output_limit: str | int | None = key(
        core.union_schema([core.str_schema(strict=True), core.int_schema(strict=True)]),
        "With more output than this it is unread: `64kB` (default), at most 256kB.",
        None,
    )


def _choice(value: Any) -> str:
    return _TABLE if isinstance(value, dict) else _NAMES


_CAUSES = core.tagged_union_schema(
    {_NAMES: many(_TEXT, 200), _TABLE: by_name(_TEXT, core.nullable_schema(table(CauseShape)))}, _choice
)


@dataclass(frozen=True, slots=True)
class PlaybookShape:
    """A playbook: the probes to run, the causes to evaluate with their thresholds, the remedies that may be offered."""

    name: str = key(_SLUG, "The playbook's name.")
    title: str = key(_TEXT, "What it is for, in a few words.")
    version: int = key(
        core.int_schema(strict=True, ge=1, le=1_000_000), "Increased with every change that may change a verdict."
    )
    description: str | None = key(
        core.str_schema(strict=True, max_length=4000, strip_whitespace=True),
        "What it is for, and when to use it.",
        None,
    )
    extends: str | None = key(
        _SLUG, "Another playbook: what is not given here comes from it, also within the causes of both.", None
    )
    all_but: list[str] | None = key(
        many(_TEXT, 200),
        "Every probe and cause of the program comes too, after those named here, but not these, "
        "nor causes that lack a probe.",
        None,
    )
    probes: list[str] | None = key(many(_TEXT, 200), "The probes to run; those of define_probes always run.", None)
    must_read: list[str] | None = key(many(_TEXT, 200), "Probes without which the node cannot be called healthy.", None)
    causes: list[str] | Mapping[str, CauseShape | None] | None = key(
        _CAUSES, "The causes to evaluate, in order: the first cause found names the verdict.", None, of=CauseShape
    )
    conditions: list[ConditionShape] | None = key(
        many(table(ConditionShape), 200), "Conditions that the playbook defines.", None, of=ConditionShape
    )
    define_probes: list[ProbeShape] | None = key(
        many(table(ProbeShape), 50), "Simple probes of your own.", None, of=ProbeShape
    )
