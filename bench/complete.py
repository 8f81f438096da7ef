# SPDX-License-Identifier: ISC
"""The row `complete` of bench/run: a second copy of what is there already, by
size and time (hpnscp -p -Z, rsync -rt) and by content (hpnscp -Z, rsync -r,
where the times are others). rsync goes over stock's ssh.
"""

import os
import shutil
import tempfile
from pathlib import Path

from benchlib import MB, Unavailable, timed
from files import make_tree

OLD = 10**9  # seconds since 1970


def make_sparse(directory, size):
    """All of it a hole, but for a megabyte in the middle."""
    top = directory / f"sparse{size}"
    if not top.exists():
        top.mkdir()
        with open(top / "file", "wb") as file:
            file.truncate(size)
            file.seek(size // 2)
            file.write(os.urandom(MB))
    return top


def make_large(directory, size):
    top = directory / f"large{size}"
    if not top.exists():
        top.mkdir()
        with open(top / "file", "wb") as file:
            for _ in range(size // MB):
                file.write(os.urandom(MB))
    return top


def copy_of(source, target, seconds):
    """Made on the disk; seconds: its files have that time instead of the
    source's. Both may be written by all, so that no mode is to be set."""
    timed(["chmod", "-R", "a+rwX", source], 600)
    timed(["cp", "-a", "--sparse=always", source, target], 600)
    for top, _, names in os.walk(target):
        for name in names if seconds else ():
            os.utime(os.path.join(top, name), (seconds, seconds))
    timed(["chmod", "-R", "a+rwX", target], 600)


class Complete:
    """The methods of Bench that copy once more."""

    def complete(self):
        """Trees that are complete, beside rsync."""
        if not shutil.which("rsync"):
            raise Unavailable("rsync is not installed")
        quick = self.args.quick
        servers = self.servers()
        for what, tree in (
                ("a sparse file of 50 GB",
                 make_sparse(self.work.dir, 50000 * MB)),
                (f"{200 if quick else 2000} MB",
                 make_large(self.work.dir, (200 if quick else 2000) * MB)),
                (f"{10000 if quick else 100000} files of 20 bytes",
                 make_tree(self.work.dir, 10000 if quick else 100000, 20))):
            self.complete_cells(servers, what, tree)
        self.drop(servers.values())

    def complete_cells(self, servers, what, tree):
        # rsync reads all zeros of a sparse file: minutes.
        by_content = "sparse" not in what
        for how, ours, theirs, seconds in (
                ("by size and time", "-rpZ", "-rt", None),
                ("by content", "-rZ", "-r", OLD)):
            for direction in ("up", "down"):
                with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
                    os.chmod(top, 0o777)
                    copies = {n: Path(top) / n for n in ("hpn", "rsync")}
                    for copy in copies.values():
                        copy_of(tree, copy, seconds)
                    jobs = {"hpn": lambda: self.once_more(
                        servers, tree, copies["hpn"], direction, ours)}
                    if by_content or not seconds:
                        jobs["rsync"] = lambda: self.rsync_once_more(
                            servers, tree, copies["rsync"], direction, theirs,
                            seconds)
                    self.add("complete", f"{what}, {how}, {direction}", "s",
                             self.turns(jobs))

    def once_more(self, servers, tree, copy, direction, flags):
        ours = self.work.ours
        return timed(self.copy_command(ours, servers[ours.name], f"{tree}/.",
                                       copy, direction, flags), 600).wall

    def rsync_once_more(self, servers, tree, copy, direction, flags, seconds):
        stock = self.work.stock
        server = servers[stock.name]
        options = server.client_options()
        login = options.index("-l")
        del options[login:login + 2]
        shell = " ".join([stock["ssh"], *options, "-c",
                          "aes128-gcm@openssh.com"])
        far = f"{server.user}@{server.host}:"
        ends = ([f"{tree}/", f"{far}{copy}/"] if direction == "up" else
                [f"{far}{tree}/", f"{copy}/"])
        done = timed([*server.entered("client"), "rsync", flags, "-e", shell,
                      *ends], 600).wall
        # It has given them new times.
        for top, _, names in os.walk(copy):
            for name in names if seconds else ():
                os.utime(os.path.join(top, name), (seconds, seconds))
        return done
