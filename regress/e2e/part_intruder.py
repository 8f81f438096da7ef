# SPDX-License-Identifier: ISC
"""An SFTP server behind somebody who may write to the target's directory: at
the n-th request he does something to each part that he finds there.

part_intruder.py N ACTION TOP PLAN SERVER; PLAN lists names, a line each, that
he leaves alone."""

import os
import subprocess
import sys
import threading

HIS = b"his own\n"


def parts(top, plan):
    for where, _, names in os.walk(top):
        for name in names:
            path = os.path.join(where, name)
            if ".hpnpart" in name and path not in plan:
                yield path


def intrude(action, part):
    new = part + ".new"
    try:
        size = os.path.getsize(part)
        if action == "remove":
            os.unlink(part)
        elif action == "rename":
            os.rename(part, part + ".away")
        elif action == "symlink":
            os.symlink("nowhere", new)
            os.rename(new, part)
        elif action in ("replace", "same size"):
            with open(new, "wb") as f:
                f.write(HIS * 7 if action == "replace" else
                        HIS[:1] * size)
            os.rename(new, part)
        elif action == "link":
            os.link(part, part + ".link")
    except OSError:
        pass  # it was renamed meanwhile, or is a directory


def main():
    turn, action, top, plan_file, server = sys.argv[1:6]
    with open(plan_file, encoding="utf-8") as f:
        plan = set(f.read().split("\n"))
    with subprocess.Popen([server], stdin=subprocess.PIPE) as child:
        def forward():
            n = 0
            while head := sys.stdin.buffer.read(4):
                body = sys.stdin.buffer.read(int.from_bytes(head, "big"))
                if n == int(turn):
                    for part in list(parts(top, plan)):
                        intrude(action, part)
                n += 1
                try:
                    child.stdin.write(head + body)
                    child.stdin.flush()
                except BrokenPipeError:
                    break
            child.stdin.close()
        threading.Thread(target=forward, daemon=True).start()
        child.wait()
    os._exit(0)


if __name__ == "__main__":
    main()
