"""The last posted digest of each scheduled sweep, so that any program posts only what is new."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import bindparam, insert, select, update

from bot.ledger import Database
from bot.ledger.tables import SWEEPS

_OF = SWEEPS.c.name == bindparam("of_name")


class SweepStore:
    """Stores a text for each sweep, on threads. Every method raises LedgerUnavailable."""

    def __init__(self, database: Database, threads: ThreadPoolExecutor) -> None:
        self._database = database
        self._threads = threads

    async def told(self, name: str) -> str:
        """Return the last posted text; empty if there is none."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read_posted, name)

    async def tell(self, name: str, told: str) -> None:
        """Store the posted text."""
        await asyncio.get_running_loop().run_in_executor(self._threads, self._write_posted, name, told)

    def _read_posted(self, name: str) -> str:
        with self._database.reading() as connection:
            told = connection.execute(select(SWEEPS.c.told).where(_OF), {"of_name": name}).scalar_one_or_none()
        return str(told or "")

    def _write_posted(self, name: str, told: str) -> None:
        with self._database.writing() as connection:
            if not connection.execute(update(SWEEPS).where(_OF).values(told=told), {"of_name": name}).rowcount:
                connection.execute(insert(SWEEPS).values(name=name, told=told))
