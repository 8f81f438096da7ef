# SPDX-License-Identifier: ISC
"""The tests' own house: what a run leaves behind, however it ends."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

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
    """Shared servers end with the run, also if the last test needs none of
    them."""
    done = run_tests("pass\n")
    assert done.rc == 0 and "2 passed, 0 failed" in done.text, done


def test_terminated_run_ends_at_once(run_tests):
    """A run that is terminated ends at once, and no test takes that for a
    failure of its own."""
    done = run_tests("os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)\n"
                     "def test_third(): print('went on')\n")
    assert done.rc == 143 and "went on" not in done.text, done
    assert "left behind" not in done.text and done.seconds < 9 * 4, done
    assert "1 passed, 0 failed" in done.text, done


def test_why_tests_are_skipped(run_tests):
    """Each reason once, with how many have it."""
    done = run_tests("""pytest.skip("no  moon\\ntonight")

import pytest
@pytest.mark.skipif(True, reason="no moon tonight")
def test_third(): pass
@pytest.mark.xfail(reason="known")
def test_fourth(): assert False
""".replace("pytest.skip", "import pytest; pytest.skip", 1))
    assert done.rc == 0 and "1 passed, 0 failed, 3 skipped" in done.text, done
    said = [line for line in done.text.splitlines()
            if line.startswith("skip: ")]
    assert said == ["skip: 2 no moon tonight", "skip: 1 known"], done


def names_defined_twice(text):
    """The names that a module, or a class in it, defines twice: the second
    takes the first one's place, without a word."""
    tree = ast.parse(text)
    for scope in ast.walk(tree):
        if not isinstance(scope, (ast.Module, ast.ClassDef)):
            continue
        names = [node.name for node in scope.body
                 if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        yield from sorted({n for n in names if names.count(n) > 1})


def test_no_test_hides_another():
    assert list(names_defined_twice("def test_a(): pass\n" * 2)) == ["test_a"]
    twice = [(path.name, name)
             for path in sorted((harness.TOP / "regress").rglob("*.py"))
             for name in names_defined_twice(path.read_text())]
    assert twice == []


def test_suite_started_anywhere():
    """Its conftest.py is above the files that are named."""
    here = Path(__file__)
    done = harness.run(
        [sys.executable, here.parents[1] / "suite.py", "--collect-only",
         "-p", "no:xdist", here.with_name("test_commit_message.py")],
        cwd="/", timeout=60,
        env=harness.clean_env(PYTHONDONTWRITEBYTECODE=1))
    assert done.rc == 0, done
    assert f"rootdir: {here.parents[1]}\n" in done.text, done


@pytest.mark.parametrize("beside,told", [
    ("def test_b(): pass\n", "2 passed, 0 failed"),
    ("import no_such_module\n", "0 passed, 2 failed")])
def test_second_try(tmp_path, beside, told):
    """A test that fails once passes alone; but not beside a file that cannot
    be read, with which nothing is run again. What the first try has left,
    which may be in use, stays."""
    shutil.copy(harness.TOP / "regress/conftest.py", tmp_path)
    (tmp_path / "test_a.py").write_text(
        "from pathlib import Path\n"
        "def test_a(tmp_path):\n"
        f"    mark = Path({str(tmp_path / 'mark')!r})\n"
        "    there = mark.exists()\n"
        "    (tmp_path / ('again' if there else 'left')).touch()\n"
        "    mark.touch()\n"
        "    assert there\n")
    (tmp_path / "test_b.py").write_text(beside)
    path = os.pathsep.join([str(harness.TOP / "regress"), *sys.path])
    done = harness.run(
        [sys.executable, harness.TOP / "regress/suite.py", "-q", "-n", "2",
         f"--basetemp={tmp_path}/inner", tmp_path], timeout=60,
        env=harness.clean_env(PYTHONPATH=path, PYTHONDONTWRITEBYTECODE=1,
                              HPN_BUILD=harness.BUILD))
    assert done.text.splitlines()[-1] == told, done
    assert ("unsteady: " in done.text) == (done.rc == 0), done
    assert [*(tmp_path / "inner").rglob("left")] or done.rc != 0


def test_terminated_while_the_tests_are_read(tmp_path):
    """No worker is started then."""
    mark = tmp_path / "mark"
    (tmp_path / "test_slow.py").write_text(
        "import pathlib, time\n"
        f"with open({str(mark)!r}, 'a') as f: print('read', file=f)\n"
        "time.sleep(60)\ndef test_a(): pass\n")
    path = os.pathsep.join([str(harness.TOP / "regress"), *sys.path])
    process = subprocess.Popen(
        [sys.executable, harness.TOP / "regress/suite.py", "-q", "-n", "2",
         f"--basetemp={tmp_path}/inner", tmp_path], stdout=subprocess.PIPE,
        env=harness.clean_env(PYTHONPATH=path, HPN_BUILD=harness.BUILD))
    assert harness.wait_for(mark.exists)
    process.terminate()
    out, _ = process.communicate(timeout=50)
    assert process.returncode == 143, out
    assert mark.read_text().count("read") == 1


def setup_sh(top, command):
    """A function of build-aux/setup.sh, for a tree."""
    return harness.run(["sh", "-c", f'top=$1; . "$top/build-aux/setup.sh"; {command}',
                        "sh", top])


def test_table_of_what_is_skipped(tmp_path):
    (tmp_path / "skips").write_text(
        "skip: 2 no moon\nskip: 11 no root: x\nskip: 10 no moon\n")
    done = setup_sh(harness.TOP, f"skips {tmp_path}/skips").ok()
    assert done.text.splitlines() == [
        "", "Skipped, and why:", "     12  no moon", "     11  no root: x"]
    assert setup_sh(harness.TOP, f"skips {tmp_path}/none").ok().text == ""


def test_what_a_test_that_was_ended_leaves(tmp_path):
    """Directories within directories that nobody may enter go as well, and
    what a link leads to stays."""
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / "a/b/c").mkdir(parents=True)
    (tree / "a/b/c/file").touch()
    outside.mkdir(mode=0o500)
    (tree / "a/link").symlink_to(outside)
    (tree / "a/b").chmod(0)
    (tree / "a").chmod(0o400)
    user = None
    if harness.IS_ROOT:  # who may enter all
        harness.open_up(tmp_path)
        harness.run(["chown", "-R", "nobody", tree]).ok()
        user = "nobody"
    shutil.copy(harness.TOP / "build-aux/setup.sh", tmp_path)
    script = f'top={tmp_path}; . "$top/setup.sh"; remove_tree "$1/a"'
    done = harness.run(["sh", "-c", script, "sh", tree], user=user)
    assert done.rc == 0 and done.errors == "", done
    assert list(tree.iterdir()) == []
    assert outside.stat().st_mode & 0o777 == 0o500


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root: a tree of its own")
def test_tree_that_only_root_may_enter(tmp_path):
    """It is copied, as it is now, to where all users may start what is in it;
    what was built in the copy stays there."""
    harness.open_up(tmp_path)
    tree, place = tmp_path / "closed/tree", tmp_path / "open"
    (tree / "build-aux").mkdir(parents=True)
    shutil.copy(harness.TOP / "build-aux/setup.sh", tree / "build-aux")
    for name in ("run-tests", "gone"):
        (tree / name).write_text("#!/bin/sh\necho here\n")
        (tree / name).chmod(0o700)
    (tree / ".git").mkdir()
    (tree / "build").mkdir()
    (tree / "build/of-root").touch()
    os.utime(tree / "run-tests", (86400, 86400))
    tree.parent.chmod(0o700)
    assert setup_sh(tree, f"everybody_may_enter {tree}").rc != 0
    copy = Path(setup_sh(tree, f"open_copy {place}").ok().text.strip())
    assert copy.parent == place and not (copy / "build").exists()
    assert harness.run([copy / "run-tests"], user="nobody").ok().text == "here\n"
    assert (copy / "run-tests").stat().st_mtime == 86400
    assert setup_sh(tree, f"everybody_may_enter {copy}").rc == 0
    (copy / "build").mkdir()
    (copy / "build/made").touch()
    (tree / "gone").unlink()
    assert setup_sh(tree, f"open_copy {place}").ok().text.strip() == str(copy)
    assert (copy / "build/made").exists() and not (copy / "gone").exists()
    assert not (copy / ".git").exists()


@pytest.fixture
def check(tmp_path):
    """check(name=body...): what `make check` says of these programs, shell
    scripts whose names have - for _. $try is how often this one has run, and
    $others whether one of the others runs."""
    def go(**bodies):
        names = []
        for name, body in bodies.items():
            names.append(name.replace("_", "-"))
            program = tmp_path / names[-1]
            program.write_text(f"""#!/bin/sh
echo again >>{program}.tries
try=$(wc -l <{program}.tries)
others=$(ls {tmp_path} | grep '[.]runs' || true)
touch {program}.runs
trap 'rm {program}.runs' EXIT
{body}
""")
            program.chmod(0o755)
        return harness.run(["sh", harness.TOP / "regress/check.sh",
                            harness.TOP, *names],
                           cwd=tmp_path, timeout=120)
    return go


SECOND = 'echo "trouble of try $try"; [ "$try" = 2 ] && [ -z "$others" ]'


def test_unit_test_that_passes_alone(check):
    """It counts as passed, and is named; with what the first try said."""
    done = check(test_first=SECOND, test_good="echo ok 1; echo ok 2",
                 test_other=SECOND)
    assert done.rc == 0, done
    assert [line for line in done.text.splitlines() if "trouble" not in line] \
        == ["unsteady: test-first (1); the end of the first try's log:",
            "pass test-good (2)",
            "unsteady: test-other (1); the end of the first try's log:",
            "4 passed, 0 failed"], done
    assert done.text.count("    trouble of try 1\n") == 2, done


def test_unit_tests_have_a_state_of_their_own(check, tmp_path):
    """Clients in them write hints; not below the caller's home."""
    check(test_state='echo "$XDG_STATE_HOME"').ok()
    state = (tmp_path / "regress/logs/test-state.log").read_text().strip()
    assert Path(state).parent == tmp_path / "regress/logs"


def test_unit_test_that_fails_twice(check):
    """A unit test that fails in another way the second time has failed; what
    it said last is shown."""
    done = check(test_bad="echo ok 1; echo not ok 2 - $try; exit $try",
                 test_once=SECOND)
    assert done.rc == 1 and "\n2 passed, 1 failed\n" in done.text, done
    assert done.text.startswith("FAIL test-bad (exit status 2); "), done
    assert "    not ok 2 - 2\n" in done.text, done
    assert "unsteady: test-once (1)" in done.text, done


@pytest.mark.parametrize("name, said", [
    ("replay_x", "trouble"), ("layers.sh", "trouble"),
    ("test_x", "==1==ERROR: AddressSanitizer: heap-use-after-free"),
    ("test_x", "==1==ERROR: LeakSanitizer: detected memory leaks"),
    ("test_x", "x.c:1:2: runtime error: signed integer overflow"),
    ("test_x", "WARNING: ThreadSanitizer: data race")])
def test_no_second_try(check, name, said):
    """For what nothing beside it can have spoilt."""
    done = check(**{name: f'echo "{said}"; [ "$try" = 2 ]'})
    assert done.rc == 1 and done.text.startswith("FAIL "), done
    assert said in done.text and "0 passed, 1 failed" in done.text, done


def test_no_second_try_for_many(check):
    done = check(**{f"test_{i}": SECOND for i in range(6)})
    assert done.rc == 1 and "0 passed, 6 failed" in done.text, done
    assert "unsteady" not in done.text and "try 2" not in done.text, done
