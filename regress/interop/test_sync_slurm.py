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
id=$(sbatch --parsable --output="$top/out.%a" --array=1-6 {sbatch} "$top/job")
sbatch --output="$top/out.end" --dependency=afterany:$id {sbatch} \\
	"$top/job" finish
# A node that dies takes its processes along.
until [ -e "$top/began.n1" ]; do sleep .1; done
for process in $(cat "$top/slurmd.n1.pid") $(cat "$top/began.n1"); do
	kill -9 $process
done
# What it ran would wait for two minutes before it is begun again.
until [ "$(squeue -h | wc -l)" = 0 ]; do
	scontrol update job=$id starttime=now
	sleep .5
done >/dev/null 2>&1
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


def world(tmp_path):
    source, target = tmp_path / "from", tmp_path / "to"
    source.mkdir()
    for i in range(60):
        (source / f"f{i}").write_bytes(os.urandom(10_000))
    target.mkdir()
    (target / "gone").write_text("x")
    run([SYNC, "-a", "--delete", f"--plan={tmp_path}/job", "--shards=6",
         f"{source}/", target]).ok()
    return source, target


def slurm_release():
    """The year of its release."""
    text = run(["slurmctld", "-V"]).ok().out
    return int(re.search(rb"(\d+)\.", text)[1])


def same(source, target):
    return ({p.name: p.read_bytes() for p in source.iterdir()}
            == {p.name: p.read_bytes() for p in target.iterdir()})


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a network of its own")
@pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)),
                    reason="Slurm is not installed")
def test_a_node_dies(tmp_path):
    source, target = world(tmp_path)
    stand_in = tmp_path / "hpnsync"
    stand_in.write_text(STANDS_IN.format(top=tmp_path, sync=SYNC))
    stand_in.chmod(0o755)
    script = tmp_path / "cluster"
    script.write_text(CLUSTER.format(
        top=tmp_path, sbatch=SBATCH, release=slurm_release(),
        host=socket.gethostname().split(".")[0]))
    done = run(["timeout", "-k", "5", "240", "unshare", "-n", "-m", "-p", "-f", "--kill-child",
                "--mount-proc", "--propagation", "private", "sh", script],
               env=clean_env(HPNSYNC=str(stand_in), HPNSYNC_WAIT="1"),
               timeout=300 * harness.SLOW)
    if done.rc == 99:
        pytest.skip("no Slurm can be started here")
    assert done.rc == 0, done
    calls = (tmp_path / "calls").read_text()
    assert "n1 --shard=" in calls and "n2 --finish=" in calls, calls
    assert same(source, target), calls
    # What began on the node that died has been done again.
    assert len([c for c in calls.splitlines() if "--shard" in c]) >= 7, calls


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
    return done.rc, (tmp_path / "ran").read_text().splitlines()


def test_each_status(tmp_path):
    shard = ["--shard=3 --job=the job"]
    assert batch(tmp_path, "the job") == (0, shard)
    assert batch(tmp_path, "the job", status=(75, 75, 0)) == (0, shard * 3)
    assert batch(tmp_path, "the job", status=(75,) * 9) == (75, shard * 5)
    assert batch(tmp_path, "the job", status=(75,) * 9,
                 HPNSYNC_TRIES="2") == (75, shard * 2)
    assert batch(tmp_path, "the job", status=(23,)) == (0, shard)
    assert batch(tmp_path, "the job", status=(3,)) == (3, shard)
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
