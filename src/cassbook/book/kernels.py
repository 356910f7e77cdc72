"""Kernels whose own chatter goes to a file: warnings about loopback sockets, traces of a kernel that is interrupted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager

from cassbook.book.settings import LOG_VARIABLE


class QuietKernelManager(AsyncKernelManager):
    """Start kernels with their standard error appended to the file that CASSBOOK_KERNEL_LOG names."""

    async def _async_start_kernel(self, **options: Any) -> None:
        path = Path(os.environ.get(LOG_VARIABLE, os.devnull))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            await super()._async_start_kernel(stderr=log, **options)

    start_kernel = _async_start_kernel
