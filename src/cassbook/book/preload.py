"""Imports what chapters import, for a process that kernels are forked from (see `kernels`)."""

import importlib
import os
import pkgutil

# A kernel says so before it imports anything, and pyplot looks once.
os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")

import ipykernel.kernelapp  # noqa: F401
import pandas as pd

from cassbook.book import chapter, chapters  # noqa: F401

for module in pkgutil.iter_modules(chapters.__path__, f"{chapters.__name__}."):
    importlib.import_module(module.name)

# Imported by a kernel it shows so many columns; elsewhere as many as a terminal has room for.
pd.set_option("display.max_columns", 20)
