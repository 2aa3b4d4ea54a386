"""The files of a simulated node: commands read, list and match them, and never write them."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from bot.demo.machine.state import Content, Moment

UNREADABLE = "\0unreadable"  # marks a file that the login may not open


class Files:
    """Paths and their contents, some of which change with time."""

    def __init__(self, contents: Mapping[str, Content]) -> None:
        self._contents = dict(contents)
        folders: set[str] = set()
        for path in self._contents:
            while (path := path.rpartition("/")[0]) and path not in folders:
                folders.add(path)
        self.folders = folders

    def read(self, path: str, moment: Moment) -> str | None:
        """Return a file's content, None if there is no such file."""
        content = self._contents.get(path)
        return content(moment) if callable(content) else content

    def matching(self, pattern: str) -> list[str]:
        """Return the files and folders that match a shell pattern, sorted."""
        depth = pattern.count("/")
        names = (path for path in (*self._contents, *self.folders) if path.count("/") == depth)
        return sorted(set(fnmatch.filter(names, pattern)))

    def below(self, folder: str) -> list[str]:
        """Return the names directly in a folder."""
        start = folder.rstrip("/") + "/"
        names = {path[len(start) :].partition("/")[0] for path in self._contents if path.startswith(start)}
        return sorted(names)

    def tail(self, paths: Sequence[str], moment: Moment) -> tuple[str, str]:
        """Return the stdout and the stderr of `tail -v -n +1`."""
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
