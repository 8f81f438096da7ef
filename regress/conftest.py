# SPDX-License-Identifier: ISC
"""Fixtures of the tests of whole programs."""

import collections
import gc
import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
import tempfile
from pathlib import Path

import pytest

import harness
from harness import IS_ROOT, ME, Client, Keys, Server, have

TEST_USER = f"hpntest{os.getpid()}"  # each run has its own
USER_KEYS = tuple(harness.BITS)


def pytest_configure(config):
    # A run in the background may ignore some of these signals; the programs
    # that it starts must not.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler
                          if number == signal.SIGINT else signal.SIG_DFL)
    harness.become_subreaper()
    # As in the environment of a server, whatever the caller has set.
    os.umask(0o022)
    os.environ["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
    state = tempfile.mkdtemp(prefix="hpn-state-")
    os.environ["XDG_STATE_HOME"] = state
    config.stash[OWN_STATE] = own_state()
    config.add_cleanup(lambda: shutil.rmtree(state, ignore_errors=True))
    if not hasattr(config, "workerinput"):
        config.add_cleanup(harness.leave_no_agents_directory())


# Workers take file after file: those of which one takes a large part of a
# minute come first, so that no worker has one left when the others are done.
LONG_FILES = [f"test_{name}.py" for name in (
    "tickets_client", "survive", "scp_deep", "direct_three", "scp_breaks",
    "sync_retry", "check", "survive_paths", "scp_retry", "shares",
    "survive_hostile", "sync_hostile", "sync_grants_plans", "survive_kinds",
    "copy_model", "first_installation", "login_rules", "sshd_login",
    "sync_grants", "completion", "direct", "scp_faults", "fixed_windows",
    "faults", "certificate_command", "hostile_client", "hostile_server",
    "scp_beside_master", "keygen", "direct_sync_faults", "direct_sync",
    "scp_broken_servers", "forward_client", "scp_same_file", "sync_faults",
    "sync", "ssh_jump", "user_certificates", "scp_ahead", "session_rules",
    "scp_resume", "sync_durable", "forward_server", "client_certificates",
    "scp_fidelity", "scp_lanes", "tokens", "x11_forwarding",
    # between programs
    "sync_lines", "fail2ban", "links_programs", "gss_kex", "matrix",
    "sync_slurm", "mux_programs", "keygen_signatures", "transfer", "otp",
    "forward_programs", "clients")]


# A listener that may have a password checked looks at its start how accounts
# are hashed, which takes more time than all else that most tests ask of it. So
# servers take passwords in these files only.
PASSWORD_FILES = {f"test_{name}.py" for name in (
    "answers_ahead", "attacks", "bad_input", "client_memory", "configurations",
    "copy_id", "debug_lines", "events", "ext_info", "grants", "hostbased",
    "hostile_client", "hostile_client_channels", "hostile_server",
    "injections", "known_lines", "log_lines", "login_rules", "long_secrets",
    "mux", "opens", "pam_delays", "pam_faults", "pam_service", "pam_texts",
    "penalties", "refused_calls", "rogue_auth", "scp_beside_master",
    "scp_further", "scp_otp", "session_rules", "shadow_memory",
    "spare_session", "ssh_auth", "ssh_hostkeys", "sshd_login",
    "sshd_processes", "survive_server", "sync_grants", "tickets",
    "tickets_back", "tickets_client", "tickets_far", "titles",
    "user_certificates", "user_process", "words_server",
    # between programs
    "conf_lines", "conf_same", "fail2ban", "gss_kex", "gssapi",
    "links_programs", "otp", "step_ca")}


def pytest_collection_modifyitems(items):
    rank = {name: n for n, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


def pytest_sessionstart(session):
    # A terminated run cleans up like one that ends. The running test may take
    # what is raised here for a failure of its own.
    def terminated(*_):
        session.shouldstop = "terminated"
        pytest.exit("terminated", 143)
    # A worker of xdist runs now and then in another thread than the main one.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminated)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item, nextitem):
    yield
    harness.reap_orphans()


def pytest_sessionfinish(session, exitstatus):
    harness.end_orphans()


def why_skipped(report):
    """On one line."""
    if hasattr(report, "wasxfail"):
        text = report.wasxfail
    elif isinstance(report.longrepr, tuple):
        text = report.longrepr[2].removeprefix("Skipped: ")
    else:
        text = str(report.longrepr)
    return " ".join(text.split()) or "without a reason"


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    count = {what: len(reporter.stats.get(what, []))
             for what in ("passed", "failed", "error", "skipped", "xfailed")}
    failed = count["failed"] + count["error"]
    skipped = count["skipped"] + count["xfailed"]
    # For the table of run-tests, and whoever else asks why.
    why = collections.Counter(
        why_skipped(report) for what in ("skipped", "xfailed")
        for report in reporter.stats.get(what, []))
    for reason, n in why.most_common():
        print(f"skip: {n} {reason}")
    print(f"{count['passed']} passed, {failed} failed"
          + (f", {skipped} skipped" if skipped else ""))


OWN_STATE = pytest.StashKey()


def own_state():
    """Names and times of what hpnssh keeps of the person who runs the tests."""
    place = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".ssh/hpn"
    return {str(path): path.lstat().st_mtime_ns
            for path in sorted(place.rglob("*"))}


@pytest.fixture(autouse=True)
def own_state_stays(request):
    """No client of a test writes where the clients of this person write. A
    test beside the one that did may be blamed, too; it passes alone."""
    yield
    before = request.config.stash[OWN_STATE]
    request.config.stash[OWN_STATE] = now = own_state()
    assert now == before, "a client of a test wrote there"


@pytest.fixture(scope="session", autouse=True)
def spread(tmp_path_factory):
    """The tests' directories lie apart on the disk: see spread_directories."""
    harness.spread_directories(tmp_path_factory.getbasetemp())


@pytest.fixture
def tmp_path(tmp_path):
    harness.spread_directories(tmp_path)
    return tmp_path


@pytest.fixture
def short():
    with harness.short_directory() as path:
        yield path


@pytest.fixture(scope="session", autouse=True)
def nothing_left():
    """Checks that no process of ours outlives the tests. A command whose
    client vanished may, as with any sshd: such ones are only killed."""
    yield
    gc.collect()  # sockets that a client of a test's own still holds
    harness.wait_for(lambda: not harness.ours_among_children())
    left = harness.ours_among_children()
    waiting = harness.what_waits() if left else ""
    harness.end_orphans()
    assert not left, f"processes were left behind: {left}\n{waiting}"


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A directory for all tests, which other users may enter."""
    directory = tmp_path_factory.mktemp("shared")
    harness.open_up(directory)
    return directory


@pytest.fixture(scope="session")
def keys(shared):
    return Keys(shared / "keys")


@pytest.fixture(scope="session")
def shared_servers(nothing_left, shared, keys):
    """get(kind, config): one server for all tests that want the same. As it
    depends on the check for processes that are left, that check comes after
    the end of these servers, whatever the last test uses."""
    running = {}

    def get(kind, config=""):
        if not have(kind, "sshd"):
            pytest.skip("hpnsshd is not built" if kind == "hpn"
                        else "no stock sshd is installed")
        if (kind, config) not in running:
            directory = shared / f"server-{kind}-{len(running)}"
            running[kind, config] = Server(
                kind, directory, keys, USER_KEYS, config).start()
        return running[kind, config]

    yield get
    for server in running.values():
        server.stop()


@pytest.fixture
def sshd(shared_servers):
    """The default hpnsshd, shared: do not stop it."""
    return shared_servers("hpn")


@pytest.fixture
def ssh(sshd):
    """A client, hpnssh, of the default hpnsshd."""
    if not have("hpn", "ssh"):
        pytest.skip("hpnssh is not built")
    return Client("hpn", sshd)


@pytest.fixture
def make_server(request, tmp_path, keys):
    """make_server(config, kind="hpn", **kw): a server for this test alone."""
    made = []

    def make(config="", kind="hpn", **kw):
        if not have(kind, "sshd"):
            pytest.skip("hpnsshd is not built" if kind == "hpn"
                        else "no stock sshd is installed")
        kw.setdefault("authorized", USER_KEYS)
        kw.setdefault("passwords", request.path.name in PASSWORD_FILES)
        if "Survive" in config and IS_ROOT:
            if why := harness.mount_problem():
                pytest.skip(why)
            kw.setdefault("within", harness.meets_alone())
        server = Server(kind, tmp_path / f"server{len(made)}", keys,
                        config=config, **kw)
        made.append(server)
        return server.start()

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def background():
    """background(args, **kw): a process that is killed when the test ends."""
    begun = []

    def begin(args, **kw):
        begun.append(harness.start(args, **kw))
        return begun[-1]

    yield begin
    for process in begun:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                pass
        harness.kill_group(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


@pytest.fixture(scope="session")
def throwaway_user():
    if not IS_ROOT:
        pytest.skip("needs root: another user is logged in to")
    for account in pwd.getpwall():  # left by a run that was killed
        pid = account.pw_name.removeprefix("hpntest")
        if pid != account.pw_name and not os.path.exists(f"/proc/{pid}"):
            harness.run(["userdel", "-r", "-f", account.pw_name])
    harness.change_accounts("useradd", "-m", "-s", "/bin/sh", TEST_USER)
    yield TEST_USER
    harness.wait_for(lambda: not harness.processes_of(TEST_USER))
    harness.run(["userdel", "-r", "-f", TEST_USER])


@pytest.fixture
def other_user(throwaway_user):
    """Name of a real ordinary user, without a password (but not locked);
    root makes a throwaway one."""
    harness.change_accounts("usermod", "-p", "*", throwaway_user)
    return throwaway_user


@pytest.fixture
def default_port():
    """hpnssh's first port, on which nobody listens during this test."""
    with harness.OnlyRun("default port"):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", harness.DEFAULT_PORT)) == 0:
                pytest.skip("somebody listens on the default port")
        yield harness.DEFAULT_PORT


@pytest.fixture
def data_file(tmp_path):
    """data_file(size): a file of random bytes."""
    def make(size, name="data"):
        path = tmp_path / name
        path.write_bytes(os.urandom(size))
        return path
    return make


@pytest.fixture(scope="session")
def me():
    return ME
