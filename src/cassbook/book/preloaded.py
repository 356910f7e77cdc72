"""Imports what chapters import, for a process that kernels are forked from (see `forked_kernels`)."""

import importlib
import os
import pkgutil

# A kernel says so before it imports anything, and pyplot looks once.
os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

import ipykernel.kernelapp  # noqa: F401

from cassbook.book import chapter, chapters  # noqa: F401

for module in pkgutil.iter_modules(chapters.__path__, f"{chapters.__name__}."):
    importlib.import_module(module.name)
