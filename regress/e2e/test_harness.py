# SPDX-License-Identifier: ISC
"""The tests' own house: what a run leaves behind, however it ends."""

import os
import shutil
import sys

import pytest

import harness

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")
BEGIN = """
import os, signal, time

def test_with_servers(sshd, make_server):
    make_server()

def test_without():
"""


@pytest.fixture
def run_tests(tmp_path):
    """run_tests(rest): a run of its own, of two tests; rest is what the
    second one does."""
    def go(rest):
        shutil.copy(harness.TOP / "regress/conftest.py", tmp_path)
        (tmp_path / "test_inner.py").write_text(BEGIN + "    " + rest)
        path = os.pathsep.join([str(harness.TOP / "regress"), *sys.path])
        return harness.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
             f"--basetemp={tmp_path}/inner", tmp_path / "test_inner.py"],
            timeout=60,
            env=harness.clean_env(PYTHONPATH=path,
                                  PYTHONDONTWRITEBYTECODE=1,
                                  HPN_BUILD=harness.BUILD))
    return go


def test_shared_servers_end_with_the_run(run_tests):
    """Also if the last test needs none of them."""
    done = run_tests("pass\n")
    assert done.rc == 0 and "2 passed, 0 failed" in done.text, done


def test_terminated_run_ends_at_once(run_tests):
    """And no test takes that for a failure of its own."""
    done = run_tests("os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)\n"
                     "def test_third(): print('went on')\n")
    assert done.rc == 143 and "went on" not in done.text, done
    assert "left behind" not in done.text and done.seconds < 9 * 4, done
    assert "1 passed, 0 failed" in done.text, done
