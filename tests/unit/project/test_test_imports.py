"""What tests share lives in `tests/helpers`: who imports a module of tests has its tests and fixtures along."""

import re

from tests.helpers.data import ROOT

#: Also in the text of a script that a test runs.
OF_TESTS = re.compile(r"^\s*(?:from|import)\s+(?:tests\.|\.).*\btest_\w+", re.MULTILINE)


def test_no_module_imports_one_of_tests():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    assert len(sources) > 200
    found = {str(path.relative_to(ROOT)): OF_TESTS.findall(source) for path, source in sources.items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_every_way_of_importing_is_seen():
    for line in (
        "from tests.unit.a.test_b import c",
        "    from tests.unit.a import test_b",
        "import tests.unit.test_b",
    ):
        assert OF_TESTS.search(line)
    assert not OF_TESTS.search("from tests.helpers import data\n\n\ndef test_b():")
