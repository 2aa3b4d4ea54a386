"""How both ends connect to a Dask scheduler: certificates, and Dask's options.

Defined in: https://distributed.dask.org/en/stable/tls.html and https://docs.dask.org/en/stable/configuration.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dask.config
from distributed import Security

from bot.response.fleet.scheduler import SchedulerAddress

CONNECT_SECONDS = 10


def security(address: SchedulerAddress) -> Security | None:
    """Return the TLS settings for every connection; None for plain text within this machine."""
    if not address.is_tls:
        return None
    files = {"tls_ca_file": str(address.ca)}
    for role in ("client", "worker", "scheduler"):
        files |= {f"tls_{role}_cert": str(address.certificate), f"tls_{role}_key": str(address.key)}
    return Security(require_encryption=True, **files)


def configured(**more: Any) -> Any:
    """Return a context that sets Dask's options: known limits, and no preloaded code."""
    options: Mapping[str, Any] = {
        "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
        "distributed.worker.preload": [],
        "distributed.client.preload": [],
        "distributed.worker.http.routes": [],  # it listens on loopback, without any pages
        **more,
    }
    return dask.config.set(options)
