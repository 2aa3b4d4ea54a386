"""The files of a simulated node as commands see them: read, listed and matched, never written."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from bot.demo.machine.state import Content, Moment

UNREADABLE = "\0unreadable"  # the content of a file that this login may not open


class Files:
    """Paths and what is in them at a moment."""

    def __init__(self, contents: Mapping[str, Content]) -> None:
        self._contents = dict(contents)
        folders: set[str] = set()
        for path in self._contents:
            while (path := path.rpartition("/")[0]) and path not in folders:
                folders.add(path)
        self.folders = folders

    def read(self, path: str, moment: Moment) -> str | None:
        """Return what is in a file, None where there is none."""
        content = self._contents.get(path)
        return content(moment) if callable(content) else content

    def matching(self, pattern: str) -> list[str]:
        """Return the files and folders that a shell's pattern names, as the shell sorts them."""
        depth = pattern.count("/")
        names = (path for path in (*self._contents, *self.folders) if path.count("/") == depth)
        return sorted(set(fnmatch.filter(names, pattern)))

    def below(self, folder: str) -> list[str]:
        """Return the names directly in a folder."""
        start = folder.rstrip("/") + "/"
        names = {path[len(start) :].partition("/")[0] for path in self._contents if path.startswith(start)}
        return sorted(names)

    def tail(self, paths: Sequence[str], moment: Moment) -> tuple[str, str]:
        """Return what `tail -v -n +1` prints of the files, and what it complains about."""
        printed: list[str] = []
        complaints: list[str] = []
        for path in paths:
            content = self.read(path, moment)
            if content is None or content == UNREADABLE:
                why = "No such file or directory" if content is None else "Permission denied"
                complaints.append(f"tail: cannot open '{path}' for reading: {why}\n")
            else:
                printed.append(f"{chr(10) if printed else ''}==> {path} <==\n{content}")
        return "".join(printed), "".join(complaints)
