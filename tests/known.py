"""Values of which a test knows more than their types say: it fails where that is not so."""

from typing import TypeVar

T = TypeVar("T")


def known(value: T | None) -> T:
    """Return what is there."""
    assert value is not None
    return value


def known_as(value: object, kind: type[T]) -> T:
    """Return what is of this kind."""
    assert isinstance(value, kind), value
    return value
