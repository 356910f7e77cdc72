"""Profiles written to a file, and their text."""

import yaml

from cassbook.core.paths import resource

QUICK = yaml.safe_load((resource("profiles") / "quick.yaml").read_text())


def write_profile(tmp_path, **changes):
    """A copy of `quick` with dotted keys changed; a value of None removes the key."""
    content = yaml.safe_load(yaml.safe_dump(QUICK))
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        part = content
        for key in parents:
            part = part[key]
        if value is None:
            part.pop(last)
        else:
            part[last] = value
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(content))
    return str(path)


TWO_SETTINGS = """
name: two
title: Two settings of known capacity
seed: 5
table: {record_count: 10}
load: {ramp_s: 0.3, steady_s: 1.5}
workloads:
  threads: [64]
  settings: [ONE/ONE, QUORUM/QUORUM]
  rates_per_s: [288, 312, 432, 468]  # 4 % below and above what each carries
  own:
    - name: rows
      operations: [{kind: READ, share: 1, statement: "SELECT a FROM b WHERE c = ?"}]
      values: {c: {distribution: uniform, count: 10}}
"""
