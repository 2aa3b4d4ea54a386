"""What `zombie profile` exports, in real viewers: page and speedscope in Chromium, the others by their rules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from playwright.async_api import Browser

from bot.__main__ import main
from tests.browser import PHONE, window
from tests.unit.extras.profiles.making import event

SHAPES = Path(__file__).parents[1] / "captures" / "profile" / "shapes.txt"
SPEEDSCOPE = "speedscope@1.25.0"
HOSTILE = "</script><img/src=x/onerror=alert(1)>\x1b[31m\u202eevil"


def written(source: Path, form: str, out: Path, *arguments: str) -> Path:
    assert main(["profile", "--from", str(source), "--format", form, "--out", str(out), *arguments]) == 0
    return out


@pytest.fixture(scope="session")
def speedscope(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its own release, by npm, in a folder that goes with the tests."""
    folder = tmp_path_factory.mktemp("speedscope")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    done = subprocess.run(
        ["npm", "pack", "--silent", SPEEDSCOPE], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"npm cannot fetch {SPEEDSCOPE}: {done.stderr.strip()[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as packed:
        packed.extractall(folder, filter="data")
    return folder / "package" / "dist" / "release" / "index.html"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("form", ["perf", "speedscope"])
async def test_speedscope_opens_it(form: str, speedscope: Path, browser: Browser, tmp_path: Path) -> None:
    suffix = {"perf": "perf.txt", "speedscope": "speedscope.json"}[form]
    exported = written(SHAPES, form, tmp_path / f"founding.{suffix}", "--core", "39")
    async with window(browser, tmp_path) as seen:
        await seen.page.goto(speedscope.as_uri())
        await seen.page.set_input_files("input[type=file]", exported)
        await seen.page.get_by_text("kubelet", exact=False).first.wait_for()
        await seen.page.get_by_text("Sandwich").first.click()
        await seen.page.get_by_text("mem_cgroup_nr_lru_pages").first.wait_for()
        assert await seen.page.get_by_text("default_idle").count() == 0
        await seen.screenshot(f"speedscope-{form}")


@pytest.mark.asyncio(loop_scope="session")
async def test_page_shows_searches_and_zooms_without_network(browser: Browser, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.txt"
    hostile.write_text(SHAPES.read_text() + event(HOSTILE, "read", comm="<b>x", at=4216.5, event="20408163 cycles") * 3)
    page = written(hostile, "html", tmp_path / "flame.html")
    async with window(browser, tmp_path) as seen:
        asked: list[str] = []
        seen.page.on("request", lambda request: asked.append(request.url))
        await seen.page.goto(page.as_uri())
        await seen.until_text(".d3-flame-graph-label", "mem_cgroup_nr_lru_pages")
        names = await seen.texts(".d3-flame-graph-label")
        assert any(name.startswith("</script><img/src=x") for name in names)
        assert await seen.page.locator("#chart img, #chart b").count() == 0
        assert not any("\x1b" in name or "\u202e" in name for name in names)
        await seen.page.fill("#search", "NR_LRU")
        await seen.until_text("#details", "%")
        await seen.page.click("#reset")
        await seen.page.locator(".d3-flame-graph g", has_text="kubelet").first.click()
        await seen.page.locator("svg.map").wait_for()
        await seen.screenshot("flame-page")
        assert (seen.complaints, asked) == ([], [page.as_uri()])


@pytest.mark.asyncio(loop_scope="session")
async def test_page_of_a_difference_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    page = written(SHAPES, "html", tmp_path / "more.html", "--between", "1", "2", "--against-between", "0", "1")
    async with window(browser, tmp_path, size=PHONE) as seen:
        await seen.page.goto(page.as_uri())
        await seen.page.locator(".d3-flame-graph g", has_text="kubelet").first.hover()
        await seen.until_text("#details", "of all against before")
        assert await seen.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        await seen.screenshot("flame-difference")
        assert seen.complaints == []


def test_text_is_as_flamescope_and_firefox_want_it(tmp_path: Path) -> None:
    text = written(SHAPES, "perf", tmp_path / "perf.txt").read_text()
    # FlameScope's app/perf/regexp.py, Firefox Profiler's linux-perf.ts, speedscope's linux-tools-perf.ts
    flamescope_frame = re.compile(r"^[\t ]*[0-9a-fA-F]+ (.+) \((.*?)\)$")
    firefox_frame = re.compile(r"^\s*(\w+)\s*(.+) \((\S*)\)")
    kinds = set()
    times = []
    for block in text.rstrip("\n").split("\n\n"):
        head, *frames = block.split("\n")
        assert re.match(r"^(\S.+?)\s+(\d+)(?:/?(\d+))?\s+", head)
        assert re.match(r"^\S.*?\s+(?:\d+/)?\d+\s+(?:\[\d+\]\s+)?[\d.]+:", head)
        found = re.search(r" +([0-9.]+): .+?:", head)
        assert found
        times.append(float(found[1]))
        kinds.add(head.rpartition(" ")[2])
        assert all(frame.startswith("\t") and flamescope_frame.match(frame) for frame in frames)
        assert all(firefox_frame.match(frame) for frame in frames)
    assert kinds == {"cycles:"}
    assert times == sorted(times)
    assert len(times) == 10


# Perfetto's perf_text_sample_line_parser.cc: the time before a colon, its core and ids before that, each as a word.
PERFETTO_EVENT = re.compile(r"(?:.* )?(?:\d+/)?\d+ +(?:\[\d+\] +)?\d+\.\d{6}:")


def as_perfetto_reads(text: str) -> list[tuple[str, list[str]]]:
    """Read events with their frames, as Perfetto's perf_text_trace_tokenizer.cc does: what it cannot read fails all."""
    events = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        head, *frames = block.split("\n")
        assert PERFETTO_EVENT.match(head), f"unable to parse sample line: {head}"
        assert frames, f"no frames in sample: {head}"
        for frame in map(str.strip, frames):
            assert " " in frame, f"unable to find symbol in frame: {frame}"
            assert frame.endswith(")"), f"unable to find mapping in frame: {frame}"
            assert "(" in frame, f"unable to find mapping in frame: {frame}"
        events.append((head, [frame.split()[1].rpartition("+")[0] or frame.split()[1] for frame in frames]))
    return events


def test_text_is_as_perfetto_wants_it(tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    of_a_capture = event("mem_cgroup_nr_lru_pages", at=4216.5).replace("4216.500000", "4216.500000123")
    without_frames = "kubelet 2317/2390 [039] 4216.7: 1 cycles:\n\n"
    source.write_text(SHAPES.read_text() + of_a_capture + without_frames)
    events = as_perfetto_reads(written(source, "perf", tmp_path / "perf.txt").read_text())
    assert len(events) == 12
    assert events[-2] == ("kubelet 2317/2390 [039] 4216.500000: 1 cycles:", ["mem_cgroup_nr_lru_pages"])
    assert events[-1] == ("kubelet 2317/2390 [039] 4216.700000: 1 cycles:", ["[unknown]"])


def test_text_that_was_exported_folds_as_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = written(SHAPES, "perf", tmp_path / "perf.txt")
    told = []
    for path in (SHAPES, again):
        assert main(["profile", "--from", str(path), "--format", "json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    for each in told:
        del each["skipped_events"], each["skipped_lines"]  # what was skipped is not exported
    assert told[0] == told[1]
