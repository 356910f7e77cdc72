"""What a chapter's fingerprint follows, and that a build executes only the chapters whose fingerprint is new."""

import json
import os

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from cassbook.book import build, execution, fingerprint, notebooks
from cassbook.core import paths

NOTEBOOK = """from cassbook.book.chapters import alone

chapter = open_chapter("one", recorded=recorded, data_hash=data_hash)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A checkout of two chapters on a package of a few modules, one recorded run and one printed table."""
    package = tmp_path / "src" / "cassbook"
    sources = {
        "__init__.py": "",
        "book/__init__.py": "",
        "book/chapters/__init__.py": "",
        "book/chapters/alone.py": "from cassbook.science import deep",
        "book/chapters/other.py": "import cassbook.science",
        "science/__init__.py": 'NAMES = {"Lazy": "lazily"}',
        "science/deep.py": "",
        "science/lazily.py": "def late():\n    from cassbook.science.inner import x",
        "science/inner.py": "x = 1",
        "unused.py": "",
    }
    for name, text in sources.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    (tmp_path / "data" / "published").mkdir(parents=True)
    (tmp_path / "data" / "published" / "table.csv").write_text("threads\n1\n")
    for run in ("mine", "yours"):
        (tmp_path / "data" / "records" / run).mkdir(parents=True)
        (tmp_path / "data" / "records" / run / "manifest.json").write_text("{}")
    (tmp_path / "_toc.yml").write_text("")
    folder = tmp_path / "notebooks" / "analyse"
    folder.mkdir(parents=True)
    for slug, text in {"one": NOTEBOOK, "two": NOTEBOOK.replace("alone", "other")}.items():
        parameters = new_code_cell('recorded = "mine"\ndata_hash = ""', metadata={"tags": ["parameters"]})
        nbformat.write(new_notebook(cells=[parameters, new_code_cell(text)]), folder / f"{slug}.ipynb")
    monkeypatch.setattr(fingerprint, "_root", lambda: package)
    monkeypatch.setattr(paths, "resource", lambda name: tmp_path / name)
    monkeypatch.setenv("CASSBOOK_BUILD", str(tmp_path / "_build"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def executed(project, monkeypatch):
    """Slugs that a build executes: call it to build."""

    def execute_all(jobs):
        for notebook, copy, _ in jobs:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(notebook.read_bytes())
        ran.extend(notebook.stem for notebook, _, _ in jobs)

    def now(**given):
        ran.clear()
        copies = build._executed(notebooks.analyse_notebooks(), given, lambda line: None)
        assert all(copy.is_file() for copy in copies)
        return sorted(ran)

    ran = []
    monkeypatch.setattr(build, "_execute_all", execute_all)
    return now


def test_nothing_changed_executes_nothing(executed):
    assert executed() == ["one", "two"]
    assert executed() == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("src/cassbook/book/chapters/alone.py", ["one"]),
        ("src/cassbook/science/deep.py", ["one"]),
        ("src/cassbook/science/__init__.py", ["one", "two"]),
        ("src/cassbook/science/inner.py", ["one", "two"]),  # offered lazily, and imported inside a function
        ("src/cassbook/unused.py", []),
        ("src/cassbook/science/__pycache__/deep.nbi", []),  # compiled code that a kernel keeps
        ("src/cassbook/book/chapters/page.html", ["one", "two"]),
        ("data/published/table.csv", ["one", "two"]),
        ("data/records/mine/manifest.json", ["one", "two"]),
        ("data/records/yours/manifest.json", []),
        ("requirements.lock", ["one", "two"]),
    ],
)
def test_a_change_executes_the_chapters_that_depend_on_it(project, executed, changed, expected):
    executed()
    path = project / changed
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "\n\n")
    os.utime(path, ns=(1, 1))
    assert executed() == expected


def test_a_changed_notebook_executes_itself_and_new_outputs_do_not(project, executed):
    executed()
    path = project / "notebooks" / "analyse" / "two.ipynb"
    content = json.loads(path.read_text())
    content["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1"}]
    path.write_text(json.dumps(content))
    assert executed() == []
    content["cells"][1]["source"] += "\nmore = 1"
    path.write_text(json.dumps(content))
    assert executed() == ["two"]


def test_another_run_executes_the_chapters_that_declare_it_and_the_first_is_taken_again(project, executed):
    path = project / "notebooks" / "analyse" / "two.ipynb"
    path.write_text(path.read_text().replace("recorded", "probed"))
    executed()
    assert executed(recorded="yours") == ["one"]
    assert executed() == []


def test_a_module_that_a_string_names_is_reached():
    modules = fingerprint.reached({"cassbook.lab.wan.relay"})
    assert any(path.name == "relay_process.py" for path in modules), "the child process"


def test_the_ledger_reaches_every_paper():
    papers = {path.parent.name for path in fingerprint.reached({"cassbook.claims.registry"})}
    assert {"g20", "pbs", "g21", "thesis", "d16"} <= papers


def test_every_chapter_reaches_what_opens_it_and_no_command():
    for notebook in notebooks.analyse_notebooks():
        text = "\n".join(cell["source"] for cell in notebooks.cells(notebook) if cell["cell_type"] == "code")
        names = {
            path.relative_to(fingerprint._root()).as_posix() for path in fingerprint.reached(fingerprint.imports(text))
        }
        assert "book/chapter.py" in names
        assert not [name for name in names if name.startswith("cli/")]


def test_an_executed_copy_appears_only_when_every_cell_has_run(tmp_path, monkeypatch):
    def fail(notebook, output, parameters, **options):
        output.write_text("half")
        raise RuntimeError

    monkeypatch.setattr(execution, "execute", fail)
    with pytest.raises(RuntimeError):
        build._execute_whole(tmp_path / "a.ipynb", tmp_path / "a-1.ipynb", {})
    assert not (tmp_path / "a-1.ipynb").exists()
