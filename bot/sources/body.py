"""Helpers for webhook requests: signatures, and JSON bounded in depth, made safe and without secrets."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from bot.domain.errors import MalformedDelivery
from bot.domain.json_form import LAST_YEAR
from bot.domain.safe_text import one_line, redacted, safe_value

DEEPEST = 32  # levels; known bodies nest ten deep
MOST_SIGNALS = 1000
TITLE = 300
_LONGEST_NAME = 200


def read_body(raw: bytes) -> Mapping[str, Any]:
    """Return a body's JSON object.

    Raises: MalformedDelivery when it is not an object.
    """
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise MalformedDelivery(f"The body is not JSON: {one_line(str(error), 100)}.") from error
    if not isinstance(body, dict):
        raise MalformedDelivery("The body is not a JSON object.")
    _check_depth(body)
    return body


def table(value: Any, where: str) -> Mapping[str, Any]:
    """Return the value as an object.

    Raises: MalformedDelivery when it is not an object.
    """
    if not isinstance(value, dict):
        raise MalformedDelivery(f"{where} is not an object.")
    return value


def object_in(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object of that name; empty if it is missing or null."""
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def text(body: Mapping[str, Any], key: str, limit: int = TITLE) -> str:
    """Return a text on a single line, made safe and without secrets; empty if there is none."""
    value = body.get(key)
    return one_line(redacted(safe_value(value)), limit) if isinstance(value, str) else ""


def name(body: Mapping[str, Any], key: str, where: str) -> str:
    """Return a source's id of something.

    Raises: MalformedDelivery when it is missing or cannot be stored.
    """
    value = body.get(key)
    if not isinstance(value, str) or not value or len(value) > _LONGEST_NAME or not value.isprintable():
        raise MalformedDelivery(f"{where}.{key} is not a name.")
    return value


def labels(body: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return texts by name, without secrets; other values are left out."""
    texts = {label: value for label, value in object_in(body, key).items() if isinstance(value, str)}
    return {one_line(label, 100): one_line(value, 500) for label, value in redacted(safe_value(texts)).items()}


def instant(body: Mapping[str, Any], key: str) -> datetime | None:
    """Return an RFC 3339 instant; None if it is missing, has no time zone, or no record could hold it."""
    value = body.get(key)
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        found = datetime.fromisoformat(value)
        return found.astimezone(UTC) if found.tzinfo is not None and found.year <= LAST_YEAR else None
    except (ValueError, OverflowError):
        return None


_names_in: list[Callable[[str], Iterable[str]]] = [lambda text: ()]


def know_names(names_in: Callable[[str], Iterable[str]]) -> None:
    """Keep the names of nodes from now on; `names_in` returns those in a text."""
    _names_in[:] = [names_in]


def harmless(value: Any) -> Any:
    """Return JSON whose texts are safe to show and hold no secrets.

    Shape: a node's name that was taken for a secret, as in “login failed: node-1”, stands behind its text.
    """
    said = safe_value(value)
    return _with_names(said, redacted(said))


def _with_names(said: Any, shown: Any) -> Any:
    if said == shown:
        return shown
    if isinstance(shown, str):
        lost = {*_names_in[0](str(said))} - {*_names_in[0](shown)}
        return " ".join([shown, *sorted(lost)])
    if isinstance(said, Mapping) and isinstance(shown, Mapping) and len(said) == len(shown):
        return dict(zip(shown, map(_with_names, said.values(), shown.values()), strict=True))
    if isinstance(said, list) and isinstance(shown, list) and len(said) == len(shown):
        return list(map(_with_names, said, shown))
    return shown


def _check_depth(body: Any) -> None:
    level: list[Any] = [body]
    for _ in range(DEEPEST):
        level = [
            item
            for value in level
            for item in (value.values() if isinstance(value, dict) else value)
            if isinstance(item, dict | list)
        ]
        if not level:
            return
    raise MalformedDelivery(f"The body nests deeper than {DEEPEST} levels.")


def _refuse_constant(written: str) -> NoReturn:
    raise ValueError(f"{written} is not a number in JSON")


MOST_SIGNATURES = 10  # during a secret's rotation there are two


def hmac_of(secret: str, body: bytes) -> str:
    """Return HMAC-SHA256 of a body, in hex."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def is_bearer(header: str, token: str) -> bool:
    """True when an Authorization header carries this token, which is not empty; compared in constant time."""
    scheme, _, given = header.partition(" ")
    return any_alike([given.strip()], [token]) and bool(token) and scheme.lower() == "bearer"


def any_alike(given: Sequence[str], expected: Sequence[str]) -> bool:
    """True when any given text is expected; all pairs are compared, in constant time."""
    found = False
    for signature in given[:MOST_SIGNATURES]:
        for other in expected:
            found |= hmac.compare_digest(signature.encode(errors="replace"), other.encode())
    return found
