"""Damaged copies of every sample log: each is read or refused in words, without another exception or a hang."""

import gzip
import random
import signal
import zlib
from base64 import b64decode, b64encode
from contextlib import contextmanager, suppress

import pytest

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.ingest.common import Options
from cassbook.ingest.folder import open_run
from cassbook.ingest.merge import read_logs
from tests.helpers import console_of_stress
from tests.helpers.data import LOGS
from tests.helpers.tool_logs import easy_stress, zstd

PATHS = sorted(path for path in LOGS.glob("*/*") if path.is_file())
SAMPLES = [*(f"{path.parent.name}/{path.name}" for path in PATHS), "easy-stress.parquet", "raw.txt.gz", "raw.txt.zst"]
SAMPLES.append("stress with decimal commas")
#: Mutants of each sample: of the quick test, and of the slow one.
FEW, MANY = 8, 40
#: A log of this size is read in some milliseconds.
PATIENCE_S = 120
HISTOGRAMS, _HDR_LINES = (".hdr", ".hlog"), 6
ODD = [b"", b"-1", b"1e999", b"NaN", b"9" * 40, b"9" * 5000, b"1.2.3", b"\xff\xfe", b"\x00", "\uff11".encode(), b"1_0",
       b"{", b"[", b'"\\ud800"', b",", b"time", b"Results:", b"END", b"FAILURE", b" ", b"0x10"]  # fmt: skip
HEADING = "file,engine,threads,read_cl,write_cl,read_share,block\n"


def flipped(rng, content):
    """Change some bytes."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 30])):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def truncated(rng, content):
    """Cut the end off."""
    return content[: rng.randrange(len(content))]


def without_lines(rng, content):
    """Leave lines out."""
    lines = content.splitlines(keepends=True)
    return b"".join(line for line in lines if rng.random() > rng.choice([0.02, 0.3]))


def doubled(rng, content):
    """Repeat a line, or swap it for another."""
    lines = content.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    lines[rng.randrange(len(lines))] = rng.choice(lines)
    return b"".join(lines)


def joined(rng, content):
    """Take line ends away."""
    lines = content.split(b"\n")
    for _ in range(rng.choice([1, 5])):
        if len(lines) > 1:
            place = rng.randrange(len(lines) - 1)
            lines[place : place + 2] = [lines[place] + lines[place + 1]]
    return b"\n".join(lines)


def swapped(rng, content):
    """Put fields of a line in another order, or something odd in the place of one."""
    lines = content.split(b"\n")
    for _ in range(rng.choice([1, 4])):
        place = rng.randrange(len(lines))
        mark = rng.choice([b",", b":", b" "])
        fields = lines[place].split(mark)
        one, other = rng.randrange(len(fields)), rng.randrange(len(fields))
        fields[one], fields[other] = fields[other], rng.choice([fields[one], rng.choice(ODD)])
        lines[place] = mark.join(fields)
    return b"\n".join(lines)


def recompressed(rng, content):
    """Change a histogram under its checksum, so that it is found to be wrong only when it is looked at."""
    lines = content.split(b"\n")
    places = [place for place, line in enumerate(lines) if b",HIST" in line]
    if not places:
        return flipped(rng, content)
    place = rng.choice(places)
    front, _, payload = lines[place].rpartition(b",")
    packed = b64decode(payload.strip())
    changed = zlib.compress(flipped(rng, zlib.decompress(packed[8:])))
    packed = packed[:4] + len(changed).to_bytes(4, "big") + changed
    lines[place] = front + b"," + b64encode(packed)
    return b"\n".join(lines)


MUTATIONS = [flipped, truncated, without_lines, doubled, joined, swapped, swapped, recompressed]


@contextmanager
def patience():
    """Raise where something takes too long."""

    def late(*_):
        raise TimeoutError(f"not read within {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def content_of(sample, folder):
    if sample == "easy-stress.parquet":
        return easy_stress(folder / "easy").read_bytes()
    if sample == "stress with decimal commas":
        one = console_of_stress.Measured(12_345, (31, 22, 61, 9_953, 12_017, 24_173), 1_234_567, 4_321)
        lines = console_of_stress.log([(4, {"insert": one}, one)], console_of_stress.Numbers(",", "."), "4.0")
        return "\n".join(lines).encode()
    if sample == "raw.txt.gz":
        return gzip.compress((LOGS / "ycsb-0.17.0" / "raw.txt").read_bytes())
    if sample == "raw.txt.zst":
        return zstd((LOGS / "ycsb-0.17.0" / "raw.txt").read_bytes())
    content = (LOGS / sample).read_bytes()
    # A histogram takes a tenth of a second to decode; a few lines have all that there is to damage.
    return b"".join(content.splitlines(keepends=True)[:_HDR_LINES]) if sample.endswith(HISTOGRAMS) else content


def reads_or_refuses(folder, content):
    """Read a log in every way; only the errors of the documentation may come out, and nothing half written."""
    (folder / "log").write_bytes(content)
    (folder / "logs.csv").write_text(f"{HEADING}log,2.1.20,4,ONE,ONE,0.5,1\n")
    for skip in (False, True):
        to = folder / f"out-{skip}"
        to.unlink(missing_ok=True)
        with patience():
            try:
                read_logs([folder / "log"], to, Options(skip_damaged=skip))
                refused = False
            except (InputError, LaboratoryError):
                refused = True
        assert to.exists() != refused
    with patience(), suppress(InputError, LaboratoryError):
        assert len(open_run(folder).statistics) == 1


def mutate(sample, number, folder, monkeypatch):
    monkeypatch.setenv("CASSBOOK_CACHE", str(folder / "cache"))
    whole = content_of(sample, folder)
    for seed in range(number // 4 if sample.endswith(HISTOGRAMS) else number):
        rng = random.Random(f"{sample} {seed}")  # noqa: S311 - no secret
        mutation = rng.choice(MUTATIONS)
        content = mutation(rng, whole)
        try:
            reads_or_refuses(folder, content)
        except Exception as error:
            raise AssertionError(f"{sample}, seed {seed} ({mutation.__name__}): {error!r}") from error


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_damaged_log_is_read_or_refused_in_words(sample, tmp_path, monkeypatch):
    mutate(sample, FEW, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("sample", SAMPLES)
def test_thousands_of_damaged_logs_are_read_or_refused_in_words(sample, tmp_path, monkeypatch):
    mutate(sample, MANY, tmp_path, monkeypatch)
