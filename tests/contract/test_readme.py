"""The README and the pages it leads to say what the program has, and every link in them leads somewhere."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from bot.__main__ import parser
from bot.app.extras import shipped
from bot.causes import CAUSES
from bot.commands import COMMANDS
from bot.commands.completion import every_parser
from bot.domain.setting import TEXT, Key
from bot.domain.verdict import Confidence, Status
from bot.probes import PROBES
from bot.settings import all_keys
from tests.reference import COMMAND, unsaid
from tests.reference import PAGES as PAGES_WRITTEN

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
REFERENCE = (ROOT / "docs" / "reference.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OF_THE_DATABASE = {"locked"}  # SQLite's word, which is passed on
MOST_LINES = 130  # a newcomer reads it in five minutes; what is longer has a page of its own


def table(page: str, heading: str) -> set[str]:
    """The first column of the page's table whose first heading is `heading`, without its backquotes."""
    body = re.search(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert body is not None, f"there is no table of {heading}"
    return {row.split("|")[1].strip().strip("`") for row in body.group(1).splitlines()}


def anchors(page: Path) -> set[str]:
    """What the page's headings are called in an address, as GitHub calls them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """The page's links into this repository that lead nowhere."""
    found = []
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


def rows_amiss(heading: str, real: Iterable[str]) -> list[str]:
    """What the reference's table lacks, and what it has beyond."""
    listed, known = table(REFERENCE, heading), set(real)
    missing = [f"docs/reference.md has no row for the {heading} {name}: {COMMAND}" for name in sorted(known - listed)]
    beyond = (f"docs/reference.md has a row for {name}, which is no {heading}: {COMMAND}" for name in listed - known)
    return [*missing, *beyond]


def test_every_probe_is_in_the_reference_and_no_other() -> None:
    assert rows_amiss("probe", PROBES) == []


def test_every_cause_is_in_the_reference_and_no_other() -> None:
    assert rows_amiss("cause", CAUSES) == []


@pytest.mark.parametrize("page", PAGES_WRITTEN)
def test_tables_of_the_reference_are_as_they_are_written(page: str) -> None:
    text = (ROOT / page).read_text()
    assert PAGES_WRITTEN[page](text) == text, f"{page} is behind the code: {COMMAND}"


def test_every_status_and_confidence_is_in_the_reference_and_no_other() -> None:
    assert table(REFERENCE, "confidence") == {one.value for one in Confidence}
    assert table(REFERENCE, "status") == {one.value for one in Status}


def test_every_command_is_in_the_reference_and_no_other() -> None:
    names = {command.split()[1] for command in table(REFERENCE, "command")}
    every = {module.__name__.rsplit(".", 1)[-1] for module in COMMANDS}
    every |= {words for words in shipped().commands if " " not in words}
    held = {below.prog.split()[1] for below in every_parser(parser()) if " " in below.prog}
    assert every - held == {"verify"}, "an old name goes on, and nothing shows it"
    assert names == held, f"docs/reference.md's table: {COMMAND}"


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def is_said(text: str, path: Path) -> bool:
    """True where the text stands in the code, and not only in a docstring."""
    if text not in (code := path.read_text()):
        return False
    tree = ast.parse(code)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    words = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return any(text in str(word.value) for word in words)


def test_what_is_quoted_to_look_a_trouble_up_by_is_what_the_program_says() -> None:
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "docs/troubleshooting.md").read_text(), re.MULTILINE)
    quoted = {text for row in rows for whole in re.findall(r'"([^"]+)"', row) for text in whole.split(" … ")}
    quoted -= OF_THE_DATABASE
    code = list((ROOT / "bot").rglob("*.py"))
    assert len(quoted) >= 2
    assert [text for text in quoted if not any(is_said(text, path) for path in code)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_link_that_leads_nowhere_is_caught(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Here, and there\n")
    page = tmp_path / "page.md"
    page.write_text("[a](other.md#here-and-there) [b](other.md#gone) [c](gone.md) [d](https://example.com) [e](#x)\n")
    assert broken(page) == ["other.md#gone", "gone.md", "#x"]


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES[1:]))
def test_every_page_is_found_from_the_readme(page: str) -> None:
    assert re.search(rf"\]\(docs/{re.escape(page)}[)#]", README)


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES[1:]))
def test_every_page_is_in_the_menu_of_the_site_and_on_its_front_page(page: str) -> None:
    assert f": {page}\n" in (ROOT / "mkdocs.yml").read_text()
    assert page == "index.md" or f"]({page})" in (ROOT / "docs/index.md").read_text()


def test_every_setting_is_on_a_page() -> None:
    keys = (key for of_table in all_keys(shipped().settings).values() for key in of_table.values())
    assert unsaid(keys) == [], f"no page explains them, within backquotes: write where they belong, or {COMMAND}"


def test_setting_that_no_page_explains_is_found_by_each_of_its_names() -> None:
    told = [Key(TEXT, "x", environment="ZOMBIE_CONFIG"), Key(TEXT, "x", toml="check.parallel")]
    untold = [Key(TEXT, "x", toml="siren.wail_for"), Key(TEXT, "x", environment="ZOMBIE_SIREN", toml="check.parallel")]
    assert unsaid([*told, *untold]) == untold
