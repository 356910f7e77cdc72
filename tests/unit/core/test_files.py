"""Files and folders that appear whole or not at all."""

from pathlib import Path

import pytest

from cassbook.core.files import whole, write_text


def test_a_text_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    write_text(path, "old")
    write_text(path, "µs")
    assert path.read_text(encoding="utf-8") == "µs"
    assert list(tmp_path.iterdir()) == [path]


def _interrupted_file(draft: Path) -> None:
    draft.write_text("half of")
    raise KeyboardInterrupt


def _interrupted_folder(draft: Path) -> None:
    draft.mkdir()
    (draft / "part").write_text("1")
    raise KeyboardInterrupt


def test_a_file_that_fails_half_way_leaves_the_old_one_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    write_text(path, "old")
    with pytest.raises(KeyboardInterrupt), whole(path) as draft:
        _interrupted_file(draft)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_whole_or_is_removed(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), whole(tmp_path / "failed") as draft:
        _interrupted_folder(draft)
    assert not list(tmp_path.iterdir())
    with whole(tmp_path / "made") as draft:
        draft.mkdir()
        (draft / "part").write_text("1")
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "part"]


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    with whole(path) as first:
        first.write_text("first")
        write_text(path, "second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
