"""Computes what a disk may contain after a power cut, from the recording made by storage.c.

A disk consists of inodes: files with content and mode, directories with entries. Synced data is
durable; of anything else any part may have reached the disk: of a file any of the written sectors,
of a directory a prefix of its changes. A new file cannot be found before its directory was synced,
nor its content before the file was.
"""

import os
import pathlib
import stat

SECTOR = 512
FEW = 8  # changes, of which every prefix is tried


class Inode:
    def __init__(self, number, mode, is_directory=False, target=None):
        self.number, self.mode, self.is_directory, self.target = number, mode, is_directory, target
        self.content = b""
        self.entries = {}  # of a directory: name to Inode
        self.program = None  # the path of a directory that nothing changes
        self.pending = []  # unsynced changes, each with its position in the recording

    def note(self, at, kind, *what):
        self.pending.append((at, kind, what))

    def sync(self, with_mode=True):
        kept = [] if with_mode else [change for change in self.pending if change[1] == "mode"]
        synced = self.pending if with_mode else [c for c in self.pending if c[1] != "mode"]
        self.content, self.entries, self.mode = self.after(synced)
        self.pending = kept

    def after(self, changes, sectors=None):
        """Content, entries and mode with these changes; `sectors` selects which parts of a write count."""
        content, entries, mode = bytearray(self.content), dict(self.entries), self.mode
        for _, kind, what in changes:
            if kind == "write":
                offset, data = what
                for start, chunk in sectors(offset, data) if sectors else [(offset, data)]:
                    if len(content) < start:
                        content.extend(bytes(start - len(content)))
                    content[start : start + len(chunk)] = chunk
            elif kind == "size":
                content = content[: what[0]].ljust(what[0], b"\0")
            elif kind == "mode":
                mode = what[0]
            elif kind == "add":
                entries[what[0]] = what[1]
            elif kind == "remove":
                entries.pop(what[0], None)
            elif kind == "rename":
                entries.pop(what[0], None)
                entries[what[1]] = what[2]
        return bytes(content), entries, mode

    def now(self):
        return self.after(self.pending)


def sectors_of(offset, data):
    """Splits a write into pieces that the disk writes atomically."""
    end = offset + len(data)
    while offset < end:
        stop = min(end, (offset // SECTOR + 1) * SECTOR)
        yield offset, data[:stop - offset]
        data = data[stop - offset :]
        offset = stop


class Disk:
    """The disk under `folder` in its current state, all of it synced. Files named in `apart` are
    excluded."""

    def __init__(self, folder, apart=()):
        self.inodes = {}
        self.apart = set(apart)
        self.root = self.take(pathlib.Path(folder))
        self.output = b""
        self.events = 0

    def take(self, path):
        status = path.lstat()
        if status.st_ino in self.inodes:
            return self.inodes[status.st_ino]
        target = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
        inode = Inode(status.st_ino, status.st_mode & 0o7777, stat.S_ISDIR(status.st_mode), target)
        self.inodes[inode.number] = inode
        if inode.is_directory:
            inode.entries = {p.name: self.take(p) for p in path.iterdir() if p not in self.apart}
        elif target is None and inode.mode & 0o111:
            inode.program = path
        elif target is None:
            inode.content = path.read_bytes()
        return inode

    # --- Events --------------------------------------------------------------------------------

    def feed(self, event):
        """Processes one event of read_record."""
        letter, numbers, name, data = event
        at = self.events = self.events + 1
        if letter == "P":
            self.output += data
        elif letter == "A":
            for inode in list(self.inodes.values()):
                inode.sync()
        elif letter in "SF":
            if inode := self.inodes.get(numbers[0]):
                inode.sync(with_mode=letter == "S")
        elif letter == "W":
            if inode := self.inodes.get(numbers[0]):
                inode.note(at, "write", numbers[1], data)
        elif letter in "TM":
            if inode := self.inodes.get(numbers[0]):
                inode.note(at, "size" if letter == "T" else "mode", numbers[1])
        else:
            self.feed_name(at, letter, numbers, name, data)

    def feed_name(self, at, letter, numbers, name, data):
        directory = self.inodes.get(numbers[0])
        if letter in "CDY" and (directory is not None or numbers[0] == 0):
            target = data.decode() if letter == "Y" else None
            mode = numbers[2] if letter != "Y" else 0o777
            self.inodes[numbers[1]] = Inode(numbers[1], mode, letter == "D", target)
        if directory is None:
            return
        if letter in "CDYL":
            directory.note(at, "add", name, self.inodes[numbers[1]])
        elif letter == "U":
            directory.note(at, "remove", name)
        elif letter == "R":
            old, new = name.split("/")
            moved = directory.now()[1][old]
            to = self.inodes[numbers[1]]
            if to is directory:
                directory.note(at, "rename", old, new, moved)
            else:
                to.note(at, "add", new, moved)
                directory.note(at, "remove", old)

    def unsynced(self):
        """The unsynced changes, in order: position in the record, inode."""
        return sorted((c[0], inode.number) for inode in self.inodes.values() for c in inode.pending)

    # --- Possible states -----------------------------------------------------------------------

    @staticmethod
    def ways(unsynced, rng, count, lost=None):
        """Possible states of the disk: with nothing unsynced, with all of it, with the first part,
        with all except what belongs to one inode, and with a random part. With few unsynced changes
        every prefix and every inode is tried; otherwise `count` states, and without the inode
        `lost`. Each is given as the argument for `state` and the changes included; None: random."""
        places = [at for at, _ in unsynced]
        yield ("first", 0), ()
        if not places:
            return
        yield ("first", places[-1]), tuple(places)
        firsts = [(("first", at), tuple(places[: i + 1])) for i, at in enumerate(places[:-1])]
        inodes = sorted({number for _, number in unsynced})
        others = [(("without", n), tuple(at for at, m in unsynced if m != n)) for n in inodes]
        parts = [(("part", rng.getrandbits(60)), None) for _ in range(count - 2)]
        if len(places) <= FEW:
            yield from firsts + others + parts[: count // 2]
            return
        yield from (way for way in others if way[0][1] == lost)
        for part in parts:
            yield rng.choice([rng.choice(firsts), *rng.choices(others, k=2), part, part])

    @staticmethod
    def state(way, rng):
        """The state of an inode on such a disk."""
        kind, value = way
        if kind == "first":
            return lambda inode: inode.after([c for c in inode.pending if c[0] <= value])
        if kind == "part":
            return lambda inode: any_part(inode, type(rng)(f"{value} {inode.number}"))
        return lambda inode: inode.after([]) if inode.number == value else inode.now()

    def write(self, folder, state):
        """Creates the disk in the empty `folder`."""
        self.write_directory(pathlib.Path(folder), self.root, state)

    def write_directory(self, folder, inode, state):
        for name, entry in state(inode)[1].items():
            path = folder / name
            if entry.is_directory:
                path.mkdir()
                self.write_directory(path, entry, state)
            elif entry.target is not None:
                path.symlink_to(entry.target)
            elif entry.program is not None:
                os.link(entry.program, path)
            else:
                content, _, mode = state(entry)
                path.write_bytes(content)
                path.chmod(mode)
        folder.chmod(state(inode)[2])


def any_part(inode, rng):
    if inode.is_directory:  # in order, so that the first ones
        return inode.after(inode.pending[: rng.randrange(len(inode.pending) + 1)])
    how = rng.choice(["some", "all", "torn"])

    def sectors(offset, data):
        pieces = list(sectors_of(offset, data))
        if how == "all" or how == "some" and len(pieces) == 1:
            return pieces
        return [chunk for chunk in pieces if rng.randrange(3) > 0]

    chosen = [c for c in inode.pending if how != "some" or rng.randrange(3) > 0]
    return inode.after(chosen, sectors)


def read_record(path):
    """The events of a recording, in order: letter, numbers, name, bytes."""
    text = pathlib.Path(path).read_bytes()
    at, events = 0, []
    counts = {"W": 3, "T": 2, "M": 2, "C": 3, "L": 3, "D": 3, "R": 2, "U": 1, "Y": 3, "S": 1,
              "F": 1, "A": 1, "P": 1}  # fmt: skip
    while at < len(text):
        end = text.index(b"\n", at)
        letter, rest = chr(text[at]), text[at + 2 : end].decode()
        words = rest.split(" ", counts[letter])
        numbers = [int(word) for word in words[: counts[letter]]]
        name = words[counts[letter]] if len(words) > counts[letter] else ""
        at = end + 1
        size = {"W": lambda: numbers[2], "Y": lambda: numbers[2], "P": lambda: numbers[0]}
        length = size.get(letter, lambda: 0)()
        events.append((letter, numbers, name, text[at : at + length]))
        at += length
    return events
