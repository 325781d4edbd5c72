#!/usr/bin/python3
"""Stores many inputs of a fuzz target in one file, one per line.

    tests/fuzz/lines.py unpack FOLDER TO    every input below FOLDER as a file in TO
    tests/fuzz/lines.py pack FOLDER FILE    every file in FOLDER as a line of FILE

libFuzzer wants each input in a separate file; thousands of those would hide the few that matter. A
line has the bytes of an input, with these escapes: \\n, \\r, \\\\, and \\xHH for anything else that
is not printable. Empty lines and lines that begin with # are not inputs. replay_main.c reads the
same format.
"""

import hashlib
import pathlib
import re
import sys

SHORT = {"\n": "\\n", "\r": "\\r", "\\": "\\\\"}
LONG = {written: meant for meant, written in SHORT.items()}


def escape(data):
    text = data.decode("utf-8", "surrogateescape")
    written = []
    for at, char in enumerate(text):
        if char in SHORT:
            written.append(SHORT[char])
        elif "\udc80" <= char <= "\udcff":
            written.append(f"\\x{ord(char) - 0xdc00:02x}")
        elif char.isprintable() and not (at == 0 and char == "#"):
            written.append(char)
        else:
            written.extend(f"\\x{byte:02x}" for byte in char.encode())
    return "".join(written)


def unescape(line):
    def meant(escape):
        return LONG[escape].encode() if escape in LONG else bytes([int(escape[2:], 16)])

    pieces = re.split(r"(\\x[0-9a-f]{2}|\\[nr\\])", line)
    return b"".join(meant(chunk) if at % 2 else chunk.encode() for at, chunk in enumerate(pieces))


def unpack(folder, target):
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.iterdir()):
        if path.suffix != ".lines":
            (target / path.name).write_bytes(path.read_bytes())
            continue
        for line in path.read_text().split("\n"):
            if line and not line.startswith("#"):
                data = unescape(line)
                (target / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(folder, path):
    lines = {escape(found.read_bytes()) for found in folder.iterdir()} - {""}
    path.unlink(missing_ok=True)
    if lines:
        path.write_text("".join(line + "\n" for line in sorted(lines)))


def main():
    command, folder, other = sys.argv[1:]
    {"pack": pack, "unpack": unpack}[command](pathlib.Path(folder), pathlib.Path(other))


if __name__ == "__main__":
    main()
