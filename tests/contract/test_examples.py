"""Examples in docstrings are true."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITH_EXAMPLES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for path in (ROOT / "bot").rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_say_what_happens(module: str) -> None:
    tried = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert (tried.failed, tried.attempted > 0) == (0, True)
