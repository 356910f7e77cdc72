"""What differs between two tables as they were printed."""

import pandas as pd

from tests.helpers.texts import KEYS, LOST_POINTS


def stored(path):
    """A CSV as it was written, every cell a string."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def agree(name, left, right):
    """Whether two cells are the same; where the text lost a decimal point, whether the other side has it just there."""
    if name in LOST_POINTS and " " in left:
        return "." in right and left == right.replace(".", " ")
    return left == right


def differences(name, left, right, sides, same=str.__eq__):
    """Every cell, row and column in which two tables differ, in words. The order of rows and columns is free."""
    here, there = sides
    differing = [f"{name}: column {column} only in {here}" for column in left.columns.difference(right.columns)]
    differing += [f"{name}: column {column} only in {there}" for column in right.columns.difference(left.columns)]
    if set(KEYS[name]) - set(left.columns) or set(KEYS[name]) - set(right.columns):
        return differing
    rows = {}
    for side, table in ((here, left), (there, right)):
        for row in table.to_dict("records"):
            key = ", ".join(f"{column}={row[column]}" for column in KEYS[name])
            if side in rows.setdefault(key, {}):
                differing.append(f"{name}: row {key} twice in {side}")
            rows[key][side] = row
    for key, row in rows.items():
        if len(row) == 1:
            differing.append(f"{name}: row {key} only in {next(iter(row))}")
            continue
        for column in left.columns.intersection(right.columns):
            ours, theirs = row[here][column], row[there][column]
            if not same(ours, theirs):
                differing.append(f"{name}: row {key}, column {column}: {here} {ours!r}, {there} {theirs!r}")
    return differing
