"""Shell completion: commands and options are completed, and nothing heavy is loaded for it."""

import os
import subprocess
import sys

import pytest

from tests.helpers.data import ROOT

PROGRAM = """
import sys
from cassbook.cli.main import main
try:
    main(prog_name="cassbook")
finally:
    print("loaded", *sorted({"cassandra", "ccmlib", "numpy", "pandas", "pyarrow"} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cassbook cl", {"claims", "cluster"}),
        ("cassbook cluster st", {"start", "status", "stop"}),
        ("cassbook doctor --fo", {"--format"}),
        ("cassbook doctor --format ", {"text", "json"}),
    ],
)
def test_it_completes_without_the_driver(words, expected):
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_CASSBOOK_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | place, capture_output=True, text=True, check=False, cwd=ROOT
    )
    *lines, loaded = done.stdout.splitlines()
    assert expected <= {line.partition(",")[2] for line in lines}
    assert loaded == "loaded"
