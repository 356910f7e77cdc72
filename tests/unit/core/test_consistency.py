import pytest
from cassandra import ConsistencyLevel

from cassbook.core.consistency import LEVEL_CODES, STRONG_SETTINGS, check_level, replicas_waited_for, setting
from cassbook.core.errors import InputError


def test_codes_are_the_drivers_and_complete():
    assert ConsistencyLevel.name_to_value == LEVEL_CODES


@pytest.mark.parametrize(
    ("level", "rf", "expected"),
    [("QUORUM", 3, 2), ("QUORUM", 4, 3), ("QUORUM", 5, 3), ("ALL", 5, 5), ("TWO", 3, 2)],
)
def test_replicas_waited_for(level, rf, expected):
    assert replicas_waited_for(level, rf) == expected


def test_the_papers_settings_are_strong():
    """Equation (1): read and written replicas overlap, and no level could be lower."""
    for strong in STRONG_SETTINGS:
        assert replicas_waited_for(strong.read_cl, 3) + replicas_waited_for(strong.write_cl, 3) == 4


@pytest.mark.parametrize(
    ("level", "operation"), [("MOST", "read"), ("ANY", "read"), ("SERIAL", "write"), ("one", "write")]
)
def test_levels_that_do_not_exist_are_refused_with_those_that_do(level, operation):
    with pytest.raises(InputError, match="QUORUM") as caught:
        check_level(level, operation)
    assert level in str(caught.value)


def test_unknown_setting_names_the_known():
    with pytest.raises(InputError, match="1R-3W, 2R-2W, 3R-1W"):
        setting("4R-0W")
