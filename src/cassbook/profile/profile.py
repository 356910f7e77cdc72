"""Profiles: every number a measurement depends on, read from YAML and checked before anything starts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from cassbook.core.consistency import (
    LEVEL_CODES,
    LEVELS,
    STRONG_SETTINGS,
    Replicas,
    Setting,
    replicas_waited_for,
    setting,
    strong_settings,
)
from cassbook.core.errors import InputError
from cassbook.core.paths import resource
from cassbook.core.releases import DEFAULT_ENGINE, release
from cassbook.profile import columns, stress, syntax
from cassbook.profile.conditions import ColdSection, PacedSection
from cassbook.profile.distance import DistanceSection
from cassbook.profile.faults import FaultsSection
from cassbook.profile.fields import (
    Distinct,
    Levels,
    Name,
    Positive,
    PositiveSeconds,
    Section,
    Settings,
    Share,
    ThreadCounts,
    Threads,
)
from cassbook.profile.open import OpenSection, check_together
from cassbook.profile.values import Distribution
from cassbook.profile.workloads import WorkloadsSection

#: How coordinators are chosen where no node is named: see `load.coordinators`.
POLICIES = ("round_robin", "token_aware", "nearest", "nearest_dc")


class ClusterSection(Section):
    """The cluster that each block starts afresh."""

    nodes: Positive = 3
    replication_factor: Positive = 3
    #: Each of which has so many replicas; the options of an existing cluster set it, for there they are named.
    data_centres: Positive = 1
    heap_mb: Annotated[int, Field(ge=128)] = 1024
    options: dict[str, Any] = Field(default_factory=dict, description="extra keys of cassandra.yaml")

    @model_validator(mode="after")
    def _replicas_fit(self) -> Self:
        if self.replication_factor > self.nodes:
            raise ValueError(
                f"replication_factor {self.replication_factor} needs as many nodes, there are {self.nodes}"
            )
        return self


class TableSection(Section):
    """YCSB's usertable and how its rows are asked for (section III.A: the defaults of YCSB)."""

    record_count: Positive = 25_000
    field_count: Positive = 10
    field_length: Positive = 100
    request_distribution: Distribution = "zipfian"
    update_all_fields: bool = False


class LoadSection(Section):
    """The closed loop. A cell is bounded by time or by operations a thread, not both."""

    coordinator: str = "token_aware"
    connections_per_node: Positive = 1
    client_processes: Annotated[int, Field(ge=1, le=64, strict=True)] = 1
    request_timeout_s: PositiveSeconds = 12.0
    ramp_s: PositiveSeconds = 0.3
    steady_s: PositiveSeconds | None = None
    operations_per_thread: Positive | None = None

    @field_validator("coordinator")
    @classmethod
    def _known_policy(cls, value: str) -> str:
        if value in POLICIES or re.fullmatch(r"node[1-9][0-9]{0,3}", value):
            return value
        raise ValueError(f"{value!r} is no coordinator policy; use {', '.join(POLICIES)} or node1, node2, ...")

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.steady_s is None) == (self.operations_per_thread is None):
            raise ValueError("give either steady_s or operations_per_thread")
        if self.client_processes > 1 and self.steady_s is None:
            raise ValueError("several client_processes share one steady window: give steady_s")
        return self


class WarmUpSection(Section):
    """The block's warm-up ends when throughput has settled: see `run.warmup.settled`."""

    threads: Threads = 100
    window_s: PositiveSeconds = 1.0
    windows: Annotated[int, Field(ge=2)] = 3
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.05
    cap_s: PositiveSeconds = 30.0


class PureSection(Section):
    """Reads only and writes only, at each level that allows them (Tables I and II)."""

    threads: ThreadCounts
    levels: Levels = Field(default=list(LEVELS))
    repeats: Positive = 1

    @field_validator("levels")
    @classmethod
    def _levels(cls, value: list[str]) -> list[str]:
        for level in value:
            if level not in LEVEL_CODES:
                raise ValueError(f"{level!r} is no consistency level; use {', '.join(LEVEL_CODES)}")
        return value


class MixedSection(Section):
    """Reads and writes mixed, at strong settings (Tables IV and V) or other pairs of levels ('QUORUM/ONE')."""

    threads: ThreadCounts
    read_shares: Annotated[list[Share], Field(min_length=1), Distinct]
    settings: Settings = Field(default=[s.name for s in STRONG_SETTINGS])
    repeats: Positive = 1


def _sections(content: Any) -> Any:
    """Return sections of `open` as a list: none, one that was given by itself, or several."""
    if content is None:
        return []
    return [content] if isinstance(content, dict | OpenSection) else content


def _of_engine(section: Any, engine: str) -> Any:
    """Return a section with the repeats that one of several engines has; None where it has none."""
    by_engine = section.get("repeats") if isinstance(section, dict) else None
    if not isinstance(by_engine, dict):
        return section
    repeats = {str(name): count for name, count in by_engine.items()}
    return section | {"repeats": repeats[engine]} if engine in repeats else None


class Profile(Section):
    """One measurement plan."""

    name: Name = "mine"
    title: str = ""
    engine: str = DEFAULT_ENGINE
    seed: Annotated[int, Field(ge=0)] = 1
    cluster: ClusterSection = ClusterSection()
    table: TableSection = TableSection()
    load: LoadSection = LoadSection(steady_s=3.0)
    warm_up: WarmUpSection = WarmUpSection()
    pure: PureSection | None = None
    mixed: MixedSection | None = None
    workloads: WorkloadsSection | None = None
    open: Annotated[list[OpenSection], BeforeValidator(_sections)] = Field(default_factory=list)
    cold: ColdSection | None = None
    paced: PacedSection | None = None
    distance: DistanceSection | None = None
    faults: FaultsSection | None = None  # for `cassbook experiment faults`; see `experiments.faults`
    design: Literal["interleaved", "sequential"] = "interleaved"  # of closed loops; see `run.plan`
    keep_samples: Literal["all", "segments", "figures", "first_block"] = "all"  # see `run.digest.kept`

    @model_validator(mode="before")
    @classmethod
    def _sequential_by_operations(cls, content: Any) -> Any:
        """Fill in the design of cells that end after so many operations: slices need a time."""
        load = content.get("load") if isinstance(content, dict) else None
        counted = isinstance(load, dict) and load.get("operations_per_thread") is not None
        return {"design": "sequential"} | content if counted else content

    @model_validator(mode="before")
    @classmethod
    def _repeats_by_engine(cls, content: Any) -> Any:
        """Take the repeats of each section of `open` that are the engine's; a section without any is left out."""
        opened = _sections(content.get("open")) if isinstance(content, dict) else None
        if not isinstance(opened, list):
            return content
        engine = content.get("engine", DEFAULT_ENGINE)
        return content | {"open": [part for section in opened if (part := _of_engine(section, engine)) is not None]}

    @model_validator(mode="before")
    @classmethod
    def _strong_by_default(cls, content: Any) -> Any:
        """Fill in the strong settings of the cluster's replication factor where none are named."""
        cluster = content.get("cluster") if isinstance(content, dict) else None
        replicas = cluster.get("replication_factor") if isinstance(cluster, dict) else None
        if not isinstance(replicas, int) or replicas < 1:
            return content
        named = {"settings": [pair.name for pair in strong_settings(replicas)]}
        sections = {key: content[key] for key in ("mixed", "workloads") if isinstance(content.get(key), dict)}
        if isinstance(opened := _sections(content.get("open")), list):
            content = content | {"open": [named | part if isinstance(part, dict) else part for part in opened]}
        return content | {key: named | section for key, section in sections.items()}

    @model_validator(mode="after")
    def _slices_have_a_time(self) -> Self:
        if self.design == "interleaved" and self.load.steady_s is None:
            raise ValueError("design: interleaved needs load.steady_s; operations_per_thread goes with sequential")
        return self

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, value: str) -> str:
        release(value)
        return value

    @model_validator(mode="after")
    def _threads_given(self) -> Self:
        """Refuse workloads without `threads`, unless all of them are measured under open arrivals."""
        part = self.workloads
        if part is None or part.threads:
            return self
        opened = [name for section in self.open for name in section.workloads]
        if not opened:
            wrong = "List should have at least 1 item, not 0 (got [])"
            raise ValueError(f"workloads.threads: {wrong if 'threads' in part.model_fields_set else 'is missing'}")
        if part.has_rates:
            raise ValueError("workloads.rates_per_s: needs workloads.threads, the highest of which may be in flight")
        if missed := [name for name in part.names if name not in opened]:
            raise ValueError(
                f"workloads: {', '.join(missed)}: measured in no loop; give workloads.threads, or name it under "
                "open.workloads"
            )
        return self

    @model_validator(mode="after")
    def _something_to_measure(self) -> Self:
        if not any(self._parts) and self.faults is None:
            raise ValueError("nothing to measure: give pure, mixed, workloads or open")
        return self

    @model_validator(mode="after")
    def _faults_fit(self) -> Self:
        if self.faults is None:
            return self
        if any((*self._parts, self.cold, self.paced)):
            raise ValueError(
                "faults: strike under a load of their own; leave pure, mixed, workloads, open, cold and paced out"
            )
        if self.load.steady_s is None:
            raise ValueError("faults: need load.steady_s, the length of the schedule")
        self.faults.check(self.load.steady_s, self.cluster.nodes)
        return self

    @model_validator(mode="after")
    def _deployments_fit(self) -> Self:
        if self.distance is None:
            return self
        extra = [name for name in ("cold", "paced") if getattr(self, name) is not None]
        if extra:
            raise ValueError(f"{', '.join(extra)}: not with distance; give pure, mixed, workloads or open")
        for name, placement in self.distance.placements().items():
            replicas = len(placement.deployment.replicas)
            if replicas != self.cluster.nodes:
                raise ValueError(
                    f"distance.deployments.{name} has {replicas} nodes, cluster.nodes is {self.cluster.nodes}"
                )
        return self

    @model_validator(mode="after")
    def _rates_have_a_window(self) -> Self:
        if self.workloads and self.workloads.has_rates and self.load.steady_s is None:
            raise ValueError("workloads.rates_per_s: needs load.steady_s, for a rate is kept up over a time")
        return self

    @model_validator(mode="after")
    def _columns_can_be_bound(self) -> Self:
        """Refuse, all at once, what the release lacks and values that no column of a type can have."""
        wrong = []
        owned = self.workloads.own if self.workloads else []
        tables = columns.tables(syntax.words(statement) for own in owned for statement in own.create)
        for own in owned:
            if said := [*own.lacking(self.engine), *own.misfits(tables)]:
                wrong.append(f"workloads.own.{own.name}: {'; '.join(said)}")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    @model_validator(mode="after")
    def _coordinator_exists(self) -> Self:
        policy = self.load.coordinator
        if policy.startswith("node") and not 1 <= int(policy[4:]) <= self.cluster.nodes:
            raise ValueError(f"load.coordinator {policy!r}: there are nodes 1 to {self.cluster.nodes}")
        return self

    @model_validator(mode="after")
    def _paused_node_exists(self) -> Self:
        pause = self.paced.pause if self.paced else None
        if pause and pause.node > self.cluster.nodes:
            raise ValueError(f"paced.pause.node {pause.node}: there are nodes 1 to {self.cluster.nodes}")
        return self

    @model_validator(mode="after")
    def _levels_can_be_met(self) -> Self:
        levels = set(self.pure.levels) if self.pure else set()
        levels |= {level for part in (self.cold, self.paced) if part for level in part.levels}
        self._check_met(levels)
        # Those of `open` are checked with their names: see `_open_fits`.
        closed = self._settings(mixed=self.mixed, workloads=self.workloads, faults=self.faults)
        self._check_met({level for pair in closed for level in (pair.read_cl, pair.write_cl)})
        self._settings(**{self._called(number): section for number, section in enumerate(self.open)})
        return self

    @model_validator(mode="after")
    def _open_fits(self) -> Self:
        known = self.workloads.names if self.workloads else []
        for number, section in enumerate(self.open):
            pairs = {name: self.setting(name) for name in section.settings}
            section.check(pairs, self.cluster.replication_factor, self.engine, known, self._called(number))
        if struck := [section.trouble for section in self.open if section.trouble]:
            self._can_lose_a_node(struck)
        check_together(self.open)
        return self

    def _called(self, number: int) -> str:
        """How messages call a section of `open`."""
        return f"open.{number}" if len(self.open) > 1 else "open"

    def _can_lose_a_node(self, troubles: Sequence[str]) -> None:
        what = f"open: trouble: {troubles[0]}"
        if self.cluster.nodes == 1:
            raise ValueError(f"{what}: strikes the last node, and there is one; give cluster.nodes: 3")
        if self.distance is not None:
            raise ValueError(f"{what}: not with distance; leave it out, or measure nodes side by side")
        if "dead_node" in troubles and (self.cold or self.paced):
            raise ValueError("open: trouble: dead_node: not with cold or paced, which come after it; use two profiles")
        strikes = [trouble for trouble in troubles if trouble in {"kill", "pause", "stop"}]
        if strikes and self.load.client_processes > 1:
            raise ValueError(f"open: trouble: {strikes[0]}: needs one client; give load.client_processes: 1")

    def _check_met(self, levels: set[str]) -> None:
        replicas = self.cluster.replication_factor
        for level in sorted(levels):
            if replicas_waited_for(level, replicas) > replicas:
                raise ValueError(f"{level} waits for more replicas than replication_factor {replicas} gives")

    def setting(self, name: str) -> Setting:
        """Find a pair of levels by its name, which depends on the replication factor."""
        return setting(name, self.cluster.replication_factor)

    def _settings(
        self, **sections: MixedSection | WorkloadsSection | OpenSection | FaultsSection | None
    ) -> list[Setting]:
        """Return the pairs of levels of some sections.

        Raises ValueError for a name that the replication factor does not have.
        """
        pairs = []
        for key, section in sections.items():
            for name in section.settings if section else ():
                try:
                    pairs.append(self.setting(name))
                except InputError as error:
                    raise ValueError(f"{key}.settings: {str(error).removeprefix('setting: ')}") from None
        return pairs

    @property
    def replicas(self) -> Replicas:
        """How many replicas a row has in each data centre, the clients' first; of several deployments, in the first."""
        part = self.cluster
        if self.distance is not None:
            by_region = next(iter(self.distance.placements().values())).deployment.by_region
            if sum(by_region) == part.replication_factor:
                return Replicas(by_region)
        return Replicas((part.replication_factor,) * part.data_centres)

    @property
    def uses_table(self) -> bool:
        """Whether some cell uses YCSB's table; otherwise there is none."""
        presets = bool(self.workloads and self.workloads.presets)
        mixes = any(section.read_shares for section in self.open)
        return presets or mixes or any((self.pure, self.mixed, self.cold, self.paced, self.faults))

    @property
    def first_workload(self) -> str:
        """The first workload of its own, which a block loads and warms up with where no cell uses YCSB's table."""
        return self.workloads.own[0].name if self.workloads and self.workloads.own else ""

    @property
    def fixed_rates(self) -> str:
        """Design of the cells at fixed rates, whatever `design` is; empty where there are none."""
        paced = self.paced is not None or (self.workloads is not None and self.workloads.has_rates)
        return "sequential" if paced else ""

    @property
    def rates_bound(self) -> bool:
        """Whether the rates of open arrivals bound all that is asked for: no closed loop runs, a warm-up neither."""
        closed = (self.pure, self.mixed, self.workloads and self.workloads.threads, self.cold, self.paced)
        return bool(self.open) and all(section.rates_bound for section in self.open) and not any(closed)

    @property
    def blocks(self) -> int:
        """How many blocks, each with a cluster start of its own, the repeats make."""
        return max((part.repeats for part in self._parts if part), default=0)

    @property
    def _parts(self) -> tuple[PureSection | MixedSection | WorkloadsSection | OpenSection | None, ...]:
        """The sections that make blocks; workloads without threads have cells under `open` alone."""
        closed = self.workloads if self.workloads and self.workloads.threads else None
        return self.pure, self.mixed, closed, *self.open


def load_profile(name_or_path: str, **overrides: Any) -> Profile:
    """Read a profile by name (`quick`) or by path (`./mine.yaml`).

    `overrides` are top-level keys to replace, such as `engine="5.0.9"`; None leaves the file's value. Raise InputError
    naming the file, the key, what it holds and what it may hold.
    """
    path, content = read_yaml(name_or_path)
    if stress.is_one(content):
        raise InputError(
            f"{path}: is a user profile of cassandra-stress; cassbook run --profile {path} --convert FILE writes the "
            "profile that it becomes"
        )
    return profile_of(content, path, **overrides)


def read_yaml(name_or_path: str) -> tuple[Path, dict[Any, Any]]:
    """Return the path of a profile and what the file holds; InputError as of `load_profile`."""
    path = Path(name_or_path)
    if path.suffix not in {".yaml", ".yml"}:
        path = resource("profiles") / f"{name_or_path}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in resource("profiles").glob("*.yaml")))
        raise InputError(f"profile: there is no {name_or_path!r}; use one of {known}, or the path of a .yaml file")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: a profile is a mapping of keys, this is {type(content).__name__}")
    return path, content


def profile_of(content: dict[Any, Any], path: Path, **overrides: Any) -> Profile:
    """Check what a file holds; `overrides` and InputError as of `load_profile`."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.stem).strip("-._") or "mine"
    content = {"name": stem, "title": str(content.get("name", stem))} | content
    content |= {key: value for key, value in overrides.items() if value is not None}
    try:
        return Profile.model_validate(content)
    except ValidationError as error:
        one = isinstance(content.get("open"), dict)
        raise InputError(f"{path}: " + "; ".join(_explain(e, one) for e in error.errors())) from None


def _explain(error: Any, one_open: bool) -> str:
    """Say in one line which key is wrong and how; `one_open`: `open` was given as a section, and not as a list."""
    loc = error["loc"]
    if one_open and loc[:2] == ("open", 0):
        loc = ("open", *loc[2:])
    key = ".".join(str(part) for part in loc) or "profile"
    if error["type"] == "extra_forbidden":
        return f"{key}: unknown key (misspelt?)"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if error["type"] == "missing":
        return f"{key}: is missing"
    if not error["loc"]:
        return message
    # A section as a whole is long, and its message names what is wrong in it.
    whole = error["type"] == "value_error" and isinstance(error["input"], dict)
    return f"{key}: {message}" if whole else f"{key}: {message} (got {error['input']!r})"
