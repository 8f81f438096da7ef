# SPDX-License-Identifier: ISC
"""contrib/slurm/hpnsync.sbatch with a Slurm of two nodes on this host, in a
network of its own, of which one dies in the middle; and without Slurm, what
the scripts for batch systems do with each exit status."""

import os
import re
import shutil
import socket
from pathlib import Path

import harness
import pytest
from harness import LONG, clean_env, have, hpn, run

TOP = Path(__file__).parents[2]
SBATCH = TOP / "contrib/slurm/hpnsync.sbatch"
SYNC = hpn("sync")
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "scontrol", "squeue",
            "sinfo")

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")

# Slurm does not talk over the loopback alone: getaddrinfo() finds no address
# there. cgroups are the host's, so none are used.
CLUSTER = """#!/bin/sh
top={top}
export SLURM_CONF=$top/slurm.conf
ip link set lo up && ip link add d0 type veth peer name d1 &&
	ip addr add 192.0.2.1/24 dev d0 && ip link set d0 up &&
	ip link set d1 up || exit 99
mkdir -p "$top/state" "$top/spool.n1" "$top/spool.n2" "$top/munge"
chmod 700 "$top/munge"
head -c 1024 /dev/urandom >"$top/munge/key"
chmod 600 "$top/munge/key"
munged --force --key-file="$top/munge/key" --socket="$top/munge.sock" \\
	--pid-file="$top/munge/pid" --log-file="$top/munge/log" \\
	--seed-file="$top/munge/seed" || exit 99
cat >"$SLURM_CONF" <<X
ClusterName=test
SlurmctldHost={host}(192.0.2.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$top/munge.sock
CredType=cred/munge
SlurmctldPidFile=$top/slurmctld.pid
SlurmdPidFile=$top/slurmd.%n.pid
SlurmctldLogFile=$top/slurmctld.log
SlurmdLogFile=$top/slurmd.%n.log
StateSaveLocation=$top/state
SlurmdSpoolDir=$top/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobRequeue=1
KillWait=1
SlurmdTimeout=5
SelectType=select/cons_tres
NodeName=n[1-2] NodeHostname={host} NodeAddr=192.0.2.1 Port=[16821-16822] CPUs=1
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:2
X
# From 23.02 on slurmd wants cgroups, or to be told that there are none.
[ {release} -lt 23 ] || echo CgroupPlugin=disabled >"$top/cgroup.conf"
slurmctld -i && slurmd -N n1 && slurmd -N n2 || exit 99
waits=0
until [ "$(sinfo -h -N -o %T | grep -c idle)" = 2 ]; do
	sleep .2
	waits=$((waits + 1))
	[ $waits -lt 300 ] || {{ cat "$top"/slurm*.log >&2; exit 98; }}
done
"""
# A node that dies takes its processes along, and what it ran would wait for two
# minutes before it is begun again.
NODE_DIES = """
until [ -e "$top/began.n1" ]; do sleep .1; done
for process in $(cat "$top/slurmd.n1.pid") $(cat "$top/began.n1"); do
	kill -9 $process
done
until [ "$(squeue -h | wc -l)" = 0 ]; do
	scontrol update job=$id starttime=now
	sleep .5
done >/dev/null 2>&1
"""
KEYS = """
id=$(sbatch --parsable --output="$top/out.%a" --array=1-6 {sbatch} "$top/job")
sbatch --output="$top/out.end" --dependency=afterany:$id {sbatch} \\
	"$top/job" finish
"""
# The login node: as in docs/CENTRES.md, but that the keys go when the one login
# is done, and come back for the end.
GRANTS = """
id=$(HOME=/nonexistent sbatch --parsable --output="$top/out.%a" --array=1-6 \\
	{sbatch} "$top/job" granted)
until grep -q "is hpnsync --grant running" "$top"/out.*; do sleep .1; done
{sync} --grant="$top/job" >"$top/giver" 2>&1 &
giver=$!
until ls "$top"/job/grants/grant-* >/dev/null 2>&1; do sleep .1; done
mv "$top/keys" "$top/keys.away"
"""
FINISH = """
wait $giver || exit 97
mv "$top/keys.away" "$top/keys"
{sync} --finish="$top/job"
"""
# In place of hpnsync: the first one of a node lasts until that is dead.
STANDS_IN = """#!/bin/sh
echo "$SLURMD_NODENAME $*" >>{top}/calls
case "$SLURMD_NODENAME $1" in
"n1 --shard"*)
	# the step's process, the script, and this one
	echo $(ps -o ppid= -p $PPID) $PPID $$ >{top}/began.tmp
	mv {top}/began.tmp {top}/began.n1
	sleep 600 ;;
esac
exec {sync} "$@"
"""
# The same, but that it really copies when its node dies.
COPIES = """#!/bin/sh
echo "$SLURMD_NODENAME $*" >>{top}/calls
[ "$SLURMD_NODENAME" = n1 ] && mkdir {top}/first 2>/dev/null ||
	exec {sync} "$@"
{sync} "$@" &
until ls -l /proc/$!/fd | grep -q "{top}/from/f"; do sleep .02; done
echo $(ps -o ppid= -p $PPID) $PPID $$ $! >{top}/began.tmp
mv {top}/began.tmp {top}/began.n1
wait
"""


def world(tmp_path, host="", files=60, size=10_000, options=(), within=()):
    source, target = tmp_path / "from", tmp_path / "to"
    source.mkdir()
    for i in range(files):
        (source / f"f{i}").write_bytes(os.urandom(size))
    target.mkdir()
    (target / "gone").write_text("x")
    run([*within, SYNC, *options, "-a", "--delete", f"--plan={tmp_path}/job",
         "--shards=6", f"{source}/", f"{host}{target}"]).ok()
    return source, target


def slurm_release():
    """The year of its release."""
    text = run(["slurmctld", "-V"]).ok().out
    return int(re.search(rb"(\d+)\.", text)[1])


def same(source, target):
    return ({p.name: p.read_bytes() for p in source.iterdir()}
            == {p.name: p.read_bytes() for p in target.iterdir()})


def cluster(tmp_path, parts, stand_in, within=("unshare", "-n")):
    """Runs these parts of a script behind the beginning of a Slurm, whose
    nodes have that in place of hpnsync."""
    program = tmp_path / "hpnsync"
    program.write_text(stand_in.format(top=tmp_path, sync=SYNC))
    program.chmod(0o755)
    script = tmp_path / "cluster"
    script.write_text(CLUSTER.format(
        top=tmp_path, release=slurm_release(),
        host=socket.gethostname().split(".")[0]) + "".join(
            part.format(sbatch=SBATCH, sync=SYNC) for part in parts))
    done = run(["timeout", "-k", "5", "240", *within, "unshare", "-m", "-p",
                "-f", "--kill-child", "--mount-proc", "--propagation",
                "private", "sh", script],
               env=clean_env(HPNSYNC=str(program), HPNSYNC_WAIT="1",
                             HPNSYNC_TRIES="60"),
               timeout=300 * harness.SLOW)
    if done.rc == 99:
        pytest.skip("no Slurm can be started here")
    assert done.rc == 0, done
    return (tmp_path / "calls").read_text()


TWO_KEYS = "ed25519", "ecdsa256"
real_slurm = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)),
    reason="there is no Slurm that this user can start")


@real_slurm
def test_a_node_dies(tmp_path):
    source, target = world(tmp_path)
    calls = cluster(tmp_path, [KEYS, NODE_DIES], STANDS_IN)
    assert "n1 --shard=" in calls and "n2 --finish=" in calls, calls
    assert same(source, target), calls
    # What began on the node that died has been done again.
    assert len([c for c in calls.splitlines() if "--shard" in c]) >= 7, calls


@pytest.fixture
def apart(tmp_path, keys):
    """A network with a server that asks for two keys, and a command line that
    runs another one in it."""
    name = f"hpnslurm{os.getpid()}"
    if run(["ip", "netns", "add", name]).rc != 0:
        pytest.skip("no network namespaces can be made here")
    # "ip netns exec" would bring a /sys without the cgroups that slurmd wants.
    within = ["nsenter", f"--net=/run/netns/{name}"]
    server = harness.Server(
        "hpn", tmp_path / "server", keys, TWO_KEYS,
        "LogLevel VERBOSE\nSubsystem sftp internal-sftp\nTransferGrants yes\n"
        "AuthenticationMethods publickey,publickey\n", within=within)
    try:
        run([*within, "ip", "link", "set", "lo", "up"]).ok()
        with server:
            yield server, within
    finally:
        run(["ip", "netns", "del", name])


@real_slurm
def test_a_node_dies_that_has_grants_alone(tmp_path, apart, keys):
    """The nodes have no key, no agent and no configuration, and the server
    wants two keys: they copy by one login of the login node's, and with what a
    node was copying when it died another one goes on, so that no part stays."""
    server, within = apart
    own = tmp_path / "keys"
    own.mkdir()
    for kind in TWO_KEYS:
        shutil.copy(keys.path(kind), own / kind)
    client = harness.Client("hpn", server)
    client.key = own / TWO_KEYS[0]
    shell = [hpn("ssh"), *client.options(), "-i", own / TWO_KEYS[1]]
    source, target = world(
        tmp_path, f"scp://{harness.ME}@127.0.0.1:{server.port}/", 18, 2 << 20,
        ["-e", " ".join(map(str, shell)), "--bwlimit=2000"], within)
    planned = server.log_text()
    calls = cluster(tmp_path, [GRANTS, NODE_DIES, FINISH], COPIES, within)
    assert "n1 --shard=" in calls and "n2 --shard=" in calls, calls
    shards = [c.split()[1] for c in calls.splitlines()]
    assert len(shards) >= 7 and len(set(shards)) == 6, calls
    assert same(source, target), calls
    said = (tmp_path / "giver").read_text()
    assert said == f"the shards may write to {target} until all are done\n"
    # The giver and the end log in, each with two keys; no shard tries to.
    log = server.log_text()[len(planned):]
    assert log.count("Accepted publickey") == 2, log
    assert log.count("Partial publickey") == 2, log
    assert log.count("Accepted ticket@hpnssh.org") >= 7, log
    assert "Failed" not in log, log


def test_lines_of_the_page():
    """The script begins with the commands of docs/CENTRES.md."""
    page = (TOP / "docs/CENTRES.md").read_text()
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```$", page,
                                          re.M | re.S)
             if "hpnsync.sbatch" in block for line in block.splitlines()]
    assert len(lines) == 6
    script = SBATCH.read_text().splitlines()
    for line in lines:
        assert f"#\t{line}" in script, line


def batch(tmp_path, *args, status=(0,), **env):
    """What the script ends with, and how often it ran the program, which ends
    with one status after the other."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho \"$*\" >>{tmp_path}/ran\n"
                       f"set -- {' '.join(map(str, status))}\n"
                       f"shift $(($(wc -l <{tmp_path}/ran) - 1))\nexit $1\n")
    program.chmod(0o755)
    (tmp_path / "ran").unlink(missing_ok=True)
    done = run(["sh", SBATCH, *args], env=clean_env(
        HPNSYNC=str(program), HPNSYNC_WAIT="0", SLURM_ARRAY_TASK_ID="3",
        **env), timeout=LONG)
    ran = tmp_path / "ran"
    return done.rc, ran.read_text().splitlines() if ran.exists() else []


def test_each_status(tmp_path):
    shard = ["--shard=3 --job=the job"]
    assert batch(tmp_path, "the job") == (0, shard)
    assert batch(tmp_path, "the job", status=(75, 75, 0)) == (0, shard * 3)
    assert batch(tmp_path, "the job", status=(75,) * 9) == (75, shard * 5)
    assert batch(tmp_path, "the job", status=(75,) * 9,
                 HPNSYNC_TRIES="2") == (75, shard * 2)
    assert batch(tmp_path, "the job", status=(23,)) == (0, shard)
    assert batch(tmp_path, "the job", status=(3,)) == (3, shard)
    # Without a login that is for all, none is tried.
    assert batch(tmp_path, tmp_path / "the job", "granted") == (75, [])
    (tmp_path / "the job/grants").mkdir(parents=True)
    assert batch(tmp_path, tmp_path / "the job", "granted") == (
        0, [f"--shard=3 --job={tmp_path}/the job"])
    end = ["--finish=the job"]
    assert batch(tmp_path, "the job", "finish") == (0, end)
    for status in (75, 23, 25):
        assert batch(tmp_path, "the job", "finish",
                     status=(status, 0)) == (status, end)


# ---- Kubernetes ----------------------------------------------------------

KUBERNETES = TOP / "contrib/k8s/hpnsync.yaml"


def test_commands_of_kubernetes(tmp_path):
    """The commands of the three Jobs, with the variable of an indexed one.
    (Their fields were held to k8s.io/api by hand; no cluster was there.)"""
    yaml = pytest.importorskip("yaml")
    source, target = world(tmp_path)
    shutil.rmtree(tmp_path / "job")
    jobs = {job["metadata"]["labels"]["step"]: job["spec"]
            for job in yaml.safe_load_all(KUBERNETES.read_text())}
    assert list(jobs) == ["plan", "shards", "finish"]
    assert jobs["shards"]["completions"] == 64

    def play(step, **env):
        container, = jobs[step]["template"]["spec"]["containers"]
        words = [*container["command"], *container.get("args", [])]
        for old, new in (("/data/results/ user@host.example:results/",
                          f"{source}/ {target}"),
                         ("/data/", f"{tmp_path}/"),
                         ("hpnsync -", f"{SYNC} -")):
            words = [w.replace(old, new) for w in words]
        words[0] = str(SYNC) if words[0] == "hpnsync" else words[0]
        return run(words, env=clean_env(**env), timeout=LONG)
    (tmp_path / "hpnsync-job").mkdir()  # of a plan that was killed
    play("plan").ok()
    assert play("plan").ok().out == b""
    assert play("finish").rc == 75
    for i in range(64):
        play("shards", JOB_COMPLETION_INDEX=str(i)).ok()
    assert play("shards", JOB_COMPLETION_INDEX="64").rc == 1
    play("finish").ok()
    assert same(source, target)
