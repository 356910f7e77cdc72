"""The Cassandra releases this laboratory knows, each artefact pinned by its SHA-256."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

from cassbook.core.errors import InputError

#: The version the 2020 paper measured ("Cassandra 2.1", section III.A).
DEFAULT_ENGINE = "2.1.20"


@dataclass(frozen=True, slots=True)
class Release:
    """One Cassandra release."""

    version: str
    java: tuple[int, ...]  # Java feature versions it runs on, best first
    #: Sum of the server's own jar: the same file in the Apache tarball and on Maven Central, so one pin checks an
    #: unpacked folder from any source.
    server_jar_sha256: str
    #: Sum of the binary tarball, where Maven Central carries one; None where the server is assembled from
    #: `cassandra-all` and its dependencies (sums in `sums/VERSION.sha256`).
    tarball_sha256: str | None
    protocol: int  # native protocol to speak; 4 at most, so that all versions share one frame format
    #: Maven coordinates of what an assembled server needs in addition to `cassandra-all` and its dependencies.
    extra: tuple[str, ...] = ()

    @property
    def major(self) -> tuple[int, int]:
        """First two parts of the version, for comparisons."""
        first, second = self.version.split(".")[:2]
        return int(first), int(second)

    def jar_sums(self) -> dict[str, str]:
        """Pinned SHA-256 of every jar of an assembled server, by file name."""
        text = resources.files("cassbook.core").joinpath(f"sums/{self.version}.sha256").read_text()
        return {name: digest for digest, name in (line.split() for line in text.splitlines())}


RELEASES = {
    r.version: r
    for r in (
        Release(
            "2.1.20",
            (8, 11),
            "f4c9130499e102694525c12ba00612a4c9c4b156c321a8bdb5bb15a82a6ec3dd",
            "ca50ffae388a2d6b363b5400217cd8ce1800d7ce40e920b3b77de8f124516746",
            protocol=3,
        ),
        Release(
            "2.2.4",
            (8, 11),
            "6dc8fc3ed6792a260515fb569094a4eabdfe6b9ea27b443ef9b7c610de5469b2",
            "48af862becea9ec70999976212d13e2cfb85dcacf565729e763146f86d9365a4",
            protocol=4,
        ),
        Release(
            "3.11.4",
            (8, 11),
            "74f9a66e2ed2310e79c135dd47bf03e240757c4f91f74f9a5b115c26066114e3",
            "5d598e23c3ffc4db0301ec2b313061e3208fae0f9763d4b47888237dd9069987",
            protocol=4,
        ),
        Release(
            "5.0.9",
            (17,),
            "6a80e6fddde88817deec4839ae431e3a9c4eeb728560336890094c6f870fef5e",
            None,
            protocol=4,
        ),
    )
}

#: The ccm study's version, the only one with a predictor of staleness inside. Its clients speak Thrift
#: (`cassbook.lab.engine.thrift`), so that it is none of those that runs are measured on.
STUDY = Release(
    "1.2.0",
    (8, 11),
    "e1802cc5a5b364e056fffb93c704caa58bfc460d77c8b62c05ce6148fc5df1b9",
    None,
    protocol=1,
    extra=("io.netty:netty:3.5.9.Final", "com.github.stephenc:jamm:0.2.5"),
)
#: Whose tarball has the interface file that clients of `STUDY` are made of, and a cassandra-stress for it.
STUDY_TOOLS = Release(
    "2.0.17",
    (8, 11),
    "6ad2190ea8b4d03dd3055a096f18121557ee3306ce990ba15bf07b5ba9915d42",
    "ba56e3176c385a4be16f48bf8bbbf6ffee10774dcf909c19fd77783ac402071c",
    protocol=2,
)


def release(version: str) -> Release:
    """Look a release up.

    Raises InputError with the versions there are.
    """
    try:
        return RELEASES[version]
    except KeyError:
        raise InputError(f"engine: {version!r} is unknown; use one of {', '.join(RELEASES)}") from None


def nearest(version: str) -> str:
    """Return the newest known release that is no newer than a version, or the oldest there is.

    >>> nearest("5.0.9"), nearest("4.1.3"), nearest("2.0.1")
    ('5.0.9', '3.11.4', '2.1.20')
    """
    wanted = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    no_newer = [name for name in RELEASES if tuple(map(int, name.split("."))) <= wanted]
    return (no_newer or list(RELEASES))[-1 if no_newer else 0]
