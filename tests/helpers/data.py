"""Where the files that tests read are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
LOGS = DATA / "logs"
#: The library, and the small adviser, a package of its own.
PACKAGES = (ROOT / "src" / "cassbook", ROOT / "advisor" / "src" / "cassbook_advisor")
