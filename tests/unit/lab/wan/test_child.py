"""Processes beside this one: they answer, their errors arrive, and none outlives whoever started it."""

import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest

from cassbook.core.errors import LaboratoryError
from cassbook.lab.wan.child import Child
from tests.helpers import children
from tests.helpers.waiting import wait_until


@pytest.mark.parametrize("serve", [children.doubling, children.looping])
def test_it_answers_what_it_is_asked(serve):
    with Child("the doubler", serve, "here") as child:
        assert child.start() == "here"
        assert [child.ask(number) for number in (1, 2, 3)] == [2, 4, 6]
        assert child.alive
    assert not child.alive
    child.stop()  # harmless to repeat
    with pytest.raises(LaboratoryError, match="the doubler is not running"):
        child.ask(1)


def test_many_threads_may_ask():
    answers = {}
    with Child("the doubler", children.doubling, 0) as child:
        child.start()
        asking = [threading.Thread(target=lambda n=n: answers.update({n: child.ask(n)})) for n in range(20, 40)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
    assert answers == {number: 2 * number for number in range(20, 40)}


def test_an_error_of_the_laboratory_is_an_answer_and_keeps_its_class():
    with Child("the doubler", children.doubling, 0) as child:
        child.start()
        with pytest.raises(children.OddError, match="the doubler: thirteen"):
            child.ask(13)
        assert child.ask(4) == 8


def test_any_other_error_is_told_and_ends_it():
    with Child("the doubler", children.doubling, 0) as child:
        child.start()
        with pytest.raises(LaboratoryError, match="the doubler: -1 is negative"):
            child.ask(-1)
        with pytest.raises(LaboratoryError, match=r"the doubler \(process \d+\) .*status 1"):
            child.ask(1)


def test_one_that_cannot_start_says_why():
    with pytest.raises(LaboratoryError, match=r"the doubler .*no room"):
        Child("the doubler", children.refusing, "no room").start()


def test_one_that_says_nothing_is_not_waited_for():
    child = Child("the doubler", children.silent, patience_s=0.1)
    with pytest.raises(LaboratoryError, match=r"the doubler \(process \d+\) .*0\.2 s"):
        child.start(0.2)
    assert not child.alive


def test_one_that_is_killed_is_told_of():
    with Child("the doubler", children.doubling, 0) as child:
        child.start()
        os.kill(child.pid, signal.SIGKILL)
        with pytest.raises(LaboratoryError, match=r"the doubler \(process \d+\) .*status -9"):
            child.ask(1)


def test_a_stubborn_one_is_killed_and_a_ctrl_c_in_the_terminal_is_not_for_it():
    child = Child("the doubler", children.stubborn, patience_s=0.2)
    assert child.start() == child.pid != os.getsid(0)
    child.stop()
    assert not child.alive


@pytest.mark.parametrize("serve", ["doubling", "looping"])
def test_it_does_not_outlive_a_killed_owner_nor_needs_a_guarded_script(tmp_path, serve):
    script = tmp_path / "script.py"  # no `if __name__ == "__main__"`
    script.write_text(
        "import os\nfrom cassbook.lab.wan.child import Child\nfrom tests.helpers import children\n"
        f"child = Child('the doubler', children.{serve}, 0)\nchild.start()\nprint(child.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    path = {"PYTHONPATH": os.pathsep.join([os.getcwd(), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False, env=os.environ | path
    )
    wait_until(lambda: not psutil.pid_exists(int(done.stdout)))
