"""What `zombie profile` exports, read by the viewers' own code: FlameScope's in Python, Firefox Profiler's in Node.

Their sources are fetched for these tests and never kept; ZOMBIE_FLAMESCOPE and ZOMBIE_FIREFOX_PROFILER name checkouts
that are here already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bot.__main__ import main
from tests.unit.extras.profiles.making import event

pytestmark = pytest.mark.long
ESBUILD = "esbuild@0.25.0"  # takes the types out of Firefox Profiler's source
# FlameScope's application, but for what it is served by: only its readers are loaded, as they stand.
FLAMESCOPE = r"""
import importlib, json, sys, types
folder, text = sys.argv[1:]
def package(name, **words):
    vars(sys.modules.setdefault(name, types.ModuleType(name))).update(words)
package("app", __path__=[f"{folder}/app"])
package("magic", from_file=lambda path, mime: "text/plain")
package("cachetools", __path__=[], cached=lambda **_: lambda function: function, LRUCache=lambda maxsize: None)
package("cachetools.keys", hashkey=lambda *words: words)
package("nflxprofile", nflxprofile_pb2=None)
importlib.import_module("app.config").PROFILE_DIR = "/"
heat = importlib.import_module("app.controllers.heatmap").generate_heatmap(text, "perf")
flame = importlib.import_module("app.perf.flame_graph").perf_generate_flame_graph(text)
print(json.dumps({"heat": heat, "flame": flame}))
"""
FIREFOX = r"""
import { readFileSync } from 'node:fs';
const { isPerfScriptFormat, convertPerfScriptProfile } = await import(process.argv[2]);
const text = readFileSync(process.argv[3], 'utf8');
const threads = convertPerfScriptProfile(text).threads.map((thread) => ({
  name: thread.name, times: thread.samples.data.map((sample) => sample[1]), strings: thread.stringTable }));
console.log(JSON.stringify({ taken: isPerfScriptFormat(text), threads }));
"""


def ran(*argv: str | Path) -> str:
    """Run a program to its end and return what it printed."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def checkout(named: str, repository: str, folder: Path) -> Path:
    """Return the sources of a viewer, or skip the test where nobody can fetch them."""
    if here := os.environ.get(named):
        return Path(here)
    clone = ["git", "clone", "--quiet", "--depth", "1", f"https://github.com/{repository}", str(folder)]
    try:
        done = subprocess.run(clone, capture_output=True, text=True, timeout=180, check=False)
    except (OSError, subprocess.TimeoutExpired):
        pytest.skip(f"{repository} cannot be fetched")
    if done.returncode != 0:
        pytest.skip(f"{repository} cannot be fetched: {done.stderr.strip()[-200:]}")
    return folder


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """An export of all of a profile, and the document that says what is in it."""
    # Not on the edges of rows: FlameScope's seconds are floating point, and 0.16 s is just below its eighth row.
    ticks = [(number, 4215.103 + number / 49) for number in range(300)]
    walk = ("mem_cgroup_nr_lru_pages", "memcg_numa_stat_show", "seq_read")
    held = [event(*walk, at=at) for _, at in ticks]
    others = [event("train", comm="ray::IDLE", pid="7/9", core=2, at=at + 0.001) for n, at in ticks if n % 7 == 0]
    idle = [
        event("native_safe_halt", comm="swapper", pid="0/0", core=3, at=at + 0.002) for n, at in ticks if n % 3 == 0
    ]
    source, made, document = (tmp_path / name for name in ("source.txt", "all.perf.txt", "all.json"))
    source.write_text("".join(held + others + idle))
    for form, out in (("perf", made), ("json", document)):
        assert main(["profile", "--from", str(source), "--format", form, "--out", str(out)]) == 0
    return made, json.loads(document.read_text())


def test_flamescope_draws_the_same_heat_map(exported: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    made, document = exported
    pytest.importorskip("flask")
    sources = checkout("ZOMBIE_FLAMESCOPE", "Netflix/flamescope", tmp_path / "flamescope")
    found = json.loads(ran(sys.executable, "-c", FLAMESCOPE, sources, made))
    drawn = [list(reversed(column)) for column in found["heat"]["values"]]  # its first row is the last 20 ms
    assert drawn == document["heatmap"]["counts"]
    assert "mem_cgroup_nr_lru_pages" in json.dumps(found["flame"])


def test_firefox_profiler_takes_every_sample_in_its_order(
    exported: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    made, document = exported
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    sources = checkout("ZOMBIE_FIREFOX_PROFILER", "firefox-devtools/profiler", tmp_path / "profiler")
    fetched = subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", tmp_path, ESBUILD],
        capture_output=True,
        timeout=180,
        check=False,
    )
    if fetched.returncode != 0:
        pytest.skip(f"npm cannot fetch {ESBUILD}")
    importer, reads = tmp_path / "linux-perf.mjs", tmp_path / "read.mjs"
    typed = next(sources.rglob("linux-perf.ts"))
    ran(tmp_path / "node_modules" / ".bin" / "esbuild", typed, "--format=esm", f"--outfile={importer}")
    reads.write_text(FIREFOX)
    found = json.loads(ran("node", reads, importer, made))
    assert found["taken"] is True
    assert sum(len(thread["times"]) for thread in found["threads"]) == document["samples"]
    assert all(thread["times"] == sorted(thread["times"]) for thread in found["threads"])
    (kubelet,) = [thread for thread in found["threads"] if thread["name"] == "kubelet"]
    assert any("mem_cgroup_nr_lru_pages" in name for name in kubelet["strings"])
