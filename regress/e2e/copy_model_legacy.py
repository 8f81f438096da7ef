# SPDX-License-Identifier: ISC
"""The rule of what a copy by the legacy protocol (hpnscp -O) leaves behind:
one file after the other, each written where it is, through links; see
copy_model.py."""

from copy_model import UMASK, Copy, NoRule, Refused
from copy_world import Node

SENT_MODES = 0o6777


class Legacy(Copy):
    """One command, done to a world."""

    def __init__(self, world, tops, command, me):
        super().__init__(world, tops, command, me)
        self.own_sink = command.own or command.way == "down"

    def copy_root(self, source, is_dir):
        if source.endswith(b"/."):
            self.fail()  # no sink takes that for a name
        else:
            super().copy_root(source, is_dir)

    def check_order(self):
        """There are no parts, and one file comes after the other, in the
        order that the directory gives."""
        if any(map(self.there, self.missing)):
            raise NoRule("no order")

    # -- directories --

    def copy_dir(self, node, parent, name):
        if self.may(node, 4):
            super().copy_dir(node, parent, name)
        else:
            self.fail()  # it is not even announced

    def copy_into(self, node, there):
        c = self.c
        self.begin_dir(node, there)
        final, new = there.mode, there.new
        if new:
            there.mode |= 0o700
        elif c.preserve and not self.own_sink:
            there.mode = node.mode  # before it is filled
        self.copy_entries(node, there)
        there.mode, there.new = final, False
        if c.preserve:
            there.mode = node.mode & SENT_MODES
            there.mtime, there.coarse = node.mtime, True

    def copy_entry(self, node, name, below, there):
        if not self.may(node, 1):
            self.fail()
        else:
            super().copy_entry(node, name, below, there)

    # -- files --

    def copy_file(self, node, parent, name):
        if not self.may(node, 4):
            self.fail()
            return
        there = parent.names.get(name)
        try:
            if there and there.kind == "link":
                parent, name, there = self.follow_target(parent, name)
            if parent is None or not self.may(parent, 1):
                raise Refused("EACCES")
            self.write(node, parent, name, there)
        except Refused:
            self.fail()

    def write(self, node, parent, name, there):
        c = self.c
        if there is None:
            there = self.make(node, parent, name)
        elif there.kind == "fifo":
            raise NoRule("no end")
        elif there.kind == "char":
            there.mtime, there.loose_mode = None, c.preserve
            return
        elif there.kind != "file":
            raise Refused("EISDIR")
        elif c.resume and self.is_whole(node, there):
            return
        elif not self.may(there, 6 if c.resume else 2):
            raise Refused("EACCES")
        elif not self.own_sink and not node.mode & 0o200:
            there.loose_mode = True
        self.note_write(node, there)
        there.data = node.data
        self.times(node, there)
        there.loose_setuid = True
        if c.preserve:
            there.mode = node.mode & SENT_MODES

    def is_whole(self, node, there):
        """Nothing moves, and nothing is set."""
        return self.may(there, 4) and there.data == node.data != b""

    def make(self, node, parent, name):
        if not self.may(parent, 3):
            raise Refused("EACCES")
        made = Node("file", node.mode & 0o777 & ~UMASK, self.me, new=True)
        parent.names[name] = made
        parent.mtime = None
        return made
