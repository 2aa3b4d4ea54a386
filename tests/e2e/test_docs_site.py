"""The site of the pages builds strictly: every page is in its menu, every link and anchor leads somewhere.

MkDocs is put into an environment of its own from requirements-docs.lock.
"""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.tool_environment import programs_of

pytestmark = [pytest.mark.slow, pytest.mark.long]
ROOT = Path(__file__).parents[2]
PARTS = ("docs", "deploy", "mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


@pytest.fixture(scope="module")
def mkdocs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, with what the lock names and nothing else."""
    return programs_of("requirements-docs.lock", tmp_path_factory.mktemp("mkdocs")) / "mkdocs"


def build(mkdocs: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(mkdocs), "build", "--strict", "--site-dir", "site"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the site is made of, so that a test may spoil it."""
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    return tmp_path


class Links(HTMLParser):
    """The links of a page, the names that it has for them, and what it would load from elsewhere."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.names: set[str] = set()
        self.loads: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what this element leads to."""
        said = {name: value or "" for name, value in attrs}
        self.names |= {said["id"]} if "id" in said else set()
        if tag == "a" and "href" in said:
            self.links.add(said["href"])
        elif tag in ("script", "img", "link") and said.get("rel") != "canonical":
            self.loads.add(said.get("src") or said.get("href") or "")


def test_site_builds_strictly_and_every_link_in_it_leads_somewhere(mkdocs: Path, checkout: Path) -> None:
    done = build(mkdocs, checkout)
    assert done.returncode == 0, done.stderr
    pages = {page: Links(page) for page in (checkout / "site").glob("*.html") if page.name != "404.html"}
    assert {"index.html", "tutorial.html", "changelog.html", "readme.html"} <= {page.name for page in pages}
    broken = []
    for page, found in pages.items():
        for link in found.links:
            path, _, name = unquote(link).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (name and target in pages and name not in pages[target].names):
                broken.append(f"{page.name}: {link}")
    assert broken == []
    assert {load for found in pages.values() for load in found.loads if "//" in load} == set(), "nothing from elsewhere"


@pytest.mark.parametrize(
    ("page", "text", "says"),
    [
        ("docs/slack.md", "[gone](nowhere.md)", "nowhere.md"),
        ("docs/slack.md", "[gone](acting.md#no-such-heading)", "no-such-heading"),
        ("docs/left-out.md", "# A page in no menu", "left-out.md"),
    ],
)
def test_what_leads_nowhere_is_no_site(mkdocs: Path, checkout: Path, page: str, text: str, says: str) -> None:
    with (checkout / page).open("a") as file:
        file.write(f"\n{text}\n")
    done = build(mkdocs, checkout)
    assert done.returncode != 0
    assert says in done.stderr
