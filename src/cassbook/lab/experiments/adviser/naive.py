"""The paper's step 6 to the letter: the optimal setting is set when it changes, for reads and writes at once.

Experiments compare the adviser with it; it is not for use: `advisor.regime` says what it breaks.
"""

from __future__ import annotations

from typing import Any

from cassandra import ConsistencyLevel
from cassandra.cluster import Session

from cassbook.advisor.requests import is_read
from cassbook.core.consistency import setting


class Switch:
    """Sends each request at the levels of the setting it was last given.

    Parameters
    ----------
    session : Session
        Of the driver; stays the caller's.
    name : str
        The setting to begin with, such as '3R-1W'.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.request_setting(name)

    def request_setting(self, name: str) -> None:
        """Use another setting from now on."""
        pair = setting(name)
        codes = ConsistencyLevel.name_to_value
        self._levels = {True: codes[pair.read_cl], False: codes[pair.write_cl]}

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """As `Session.execute`, for prepared statements."""
        return self.execute_async(statement, parameters, **options).result()

    def execute_async(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """As `Session.execute_async`, for prepared statements."""
        bound = statement.bind(parameters or ())
        bound.consistency_level = self._levels[is_read(statement.query_string)]
        return self._session.execute_async(bound, **options)
