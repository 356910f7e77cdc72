"""Client processes that share one process of arrivals."""

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassbook.core.schema import SAMPLES
from cassbook.lab.load.arrivals import Arrivals
from cassbook.lab.load.loop import Bound, Outcome
from cassbook.lab.load.recorder import Window
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.processes import ClientProcesses, Order
from cassbook.latency.cell_checks import Due

BEGUN_S = 100.0
CELL = Cell("c", "open", 10, "ONE", "ONE", 1.0, 1, 1, 0, rate_per_s=500.0, arrivals="poisson")


class MadeMember:
    """A client process that sends nothing, and says that it has sent what its order asks for."""

    offset_s = 0.0

    def __init__(self):
        self.order, self.told = None, []
        self._says = iter([None])

    def launch(self):
        pass

    def hear(self, timeout_s=None, failing=""):
        return next(self._says)

    def tell(self, message):
        if not isinstance(message, Order):
            self.told.append(message)
            return
        self.order = message
        pq.write_table(SAMPLES.empty_table(), message.path)
        self._says = iter([BEGUN_S, BEGUN_S + 1, self._outcome(message.bound)])

    def _outcome(self, bound):
        due_s = list(itertools.takewhile(lambda at: at < bound.ramp_s + bound.steady_s, bound.arrivals.due_s()))
        counted = [at for at in due_s if at >= bound.ramp_s]
        late_s = np.full(len(counted), 1e-5, dtype=np.float32)
        left_s = np.array(counted) - bound.ramp_s
        window = Window(BEGUN_S + bound.ramp_s, BEGUN_S + bound.ramp_s + bound.steady_s)
        return Outcome(window, 0.1, len(due_s), 10.0, Due(len(counted), 0, np.zeros(1), np.zeros(2), left_s, late_s))

    def hang_up(self):
        pass

    def stop(self):
        pass

    def writes_at(self, part):
        return part

    def collect(self, part):
        pass


class MadeProcesses(ClientProcesses):
    def _member(self, number, arguments):
        return MadeMember()


@pytest.mark.parametrize("kind", ["poisson", "even"])
@pytest.mark.parametrize("count", [1, 3])
def test_each_takes_its_own_of_one_process_of_arrivals(tmp_path, kind, count):
    whole = Arrivals(kind, 500.0, (1, 2))
    bound = Bound(0.5, 2.0, arrivals=whole)
    with MadeProcesses(count, None, None, [1], 0.0) as processes:
        outcome, samples = processes.run([CELL], bound, tmp_path / "c.parquet")
    arrivals = [child.order.bound.arrivals for child in processes.children]
    assert arrivals == [replace(whole, part=number, parts=count) for number in range(count)]
    assert sum(child.order.group[0].threads for child in processes.children) == CELL.threads
    assert {child.told[0] for child in processes.children} == {BEGUN_S}  # when arrivals begin: not when they count
    due_s = itertools.takewhile(lambda at: at < 2.5, whole.due_s())
    assert outcome.due.n_due == sum(at >= 0.5 for at in due_s)
    assert (outcome.due.n_unsent, outcome.due.n_waited) == (count, 2 * count)
    assert len(outcome.due.late_s) == outcome.due.n_due
    assert (outcome.window.steady_from, outcome.window.steady_to) == (BEGUN_S + 0.5, BEGUN_S + 2.5)
    assert isinstance(samples, pa.Table)
