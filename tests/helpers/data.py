"""Where the files that tests read are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
LOGS = DATA / "logs"
