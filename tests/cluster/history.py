#!/usr/bin/python3
"""Clients of a server that is killed repeatedly, and a check of what they observed.

    tests/cluster/history.py [--kills 100] [--seed N] [--build build]

store_clients.c writes and watches through gRPC and mutual TLS; `eden serve` is killed (-9) after
a random number of responses and restarted. `check` then reads the history of all calls,
responses and events: no acknowledged write is lost, revisions increase, compare-and-swap is
exclusive, no read is stale, and every watch has seen every change once and in order, across all
kills. On failure, the seed and the history show how.
"""

import argparse
import collections
import pathlib
import random
import shutil
import sys

from cluster_server import ClusterServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAIR = ("/history/pair/0", "/history/pair/1")
ANSWERS = 1500  # at most, between two kills


class Inconsistent(Exception):
    """The observations are contradictory."""


def require(holds, *what):
    if not holds:
        raise Inconsistent(" ".join(str(word) for word in what))


class Call:
    def __init__(self, words):
        self.kind, self.key = words[1], words[2]
        self.number, self.expected, self.known = map(int, words[3:6])
        self.state = "open"
        self.revision = self.count = self.found = self.changed = None

    def __repr__(self):
        return f"{self.kind} {self.key} {self.number} ({self.state} {self.revision})"


class Progress:
    """The events of one watcher since it (re)connected."""

    def __init__(self, start):
        self.start, self.upto, self.events = start, start - 1, []


class History:
    def __init__(self, lines):
        self.calls = {}
        self.watchers = collections.defaultdict(list)
        self.keys = {}
        self.end = None
        for line in lines:
            kind, *words = line.split()
            getattr(self, f"read_{kind}")(words)

    def read_call(self, words):
        self.calls[words[0]] = Call(words)

    def read_ok(self, words):
        call = self.calls[words[0]]
        require(call.state == "open", call, "is answered twice")
        call.state = "ok"
        call.revision, call.count, call.found, call.changed = map(int, words[1:])

    def read_unknown(self, words):
        self.calls[words[0]].state = "unknown"

    def read_resume(self, words):
        self.watchers[words[0]].append(Progress(int(words[1])))

    def read_event(self, words):
        progress = self.watchers[words[0]][-1]
        progress.events.append((int(words[1]), words[2], int(words[3])))

    def read_progress(self, words):
        progress = self.watchers[words[0]][-1]
        require(int(words[1]) >= progress.upto, "watcher", words[0], "reports a past revision")
        progress.upto = int(words[1])

    def read_key(self, words):
        self.keys[words[0]] = tuple(map(int, words[1:]))

    def read_end(self, words):
        self.end = int(words[0])

    def log(self):
        """All changes, as seen by the first watcher over all its connections."""
        log = []
        upto = 0
        for progress in self.watchers["0"]:
            require(progress.start <= upto + 1, "the first watcher left something out")
            # Events of an incomplete revision are delivered again.
            log += [event for event in progress.events if event[0] <= progress.upto]
            upto = progress.upto
        require(upto >= self.end, "the first watcher has not seen the end")
        require(log == sorted(log, key=lambda event: event[0]), "changes are out of order")
        require(len({event[:2] for event in log}) == len(log), "a change is repeated")
        return log


def check_watchers(history, log):
    """All watchers see the same changes, from where they start to where they are cut off."""
    for name, lives in history.watchers.items():
        for progress in lives:
            whole = [event for event in progress.events if event[0] <= progress.upto]
            wanted = [event for event in log if progress.start <= event[0] <= progress.upto]
            require(whole == wanted, "watcher", name, "from", progress.start, "to", progress.upto,
                    "received", len(whole), "changes, not", len(wanted))  # fmt: skip
            rest = progress.events[len(whole) :]
            after = [event for event in log if event[0] > progress.upto][: len(rest)]
            require(rest == after, "watcher", name, "received what did not happen:", rest)


def check_writes(history, log):
    """Everything acknowledged is in the log, at the reported revision, and nothing that was never
    written. Calls without a progress appear once or not at all."""
    numbers = {call.number: call for call in history.calls.values() if call.number}
    deletes = {}
    unknown = collections.Counter()
    for call in history.calls.values():
        require(call.state != "open", call, "was never answered")
        if call.kind == "delete" and call.state == "ok" and call.count:
            require((call.revision, call.key) not in deletes, "deleted twice at once:", call)
            deletes[call.revision, call.key] = call
        elif call.kind == "delete" and call.state == "unknown":
            unknown[call.key] += 1
    at = {}
    seen = collections.Counter()
    for revision, key, number in log:
        at.setdefault(revision, {})[key] = number
        seen[number] += number > 0
        if number == 0:
            if not deletes.pop((revision, key), None):
                require(unknown[key] > 0, "nobody deleted", key, "at", revision)
                unknown[key] -= 1
            continue
        call = numbers.get(number)
        require(call is not None, "nobody wrote", number, "to", key)
        require(key in (PAIR if call.kind == "pair" else (call.key,)), call, "is at", key)
        require(call.state != "ok" or call.revision == revision, call, "is at", revision)
    require(not deletes, "an acknowledged delete is lost:", deletes)
    for call in numbers.values():
        times = 2 if call.kind == "pair" else 1
        happened = call.state == "ok" and (call.kind != "swap" or call.count == 1)
        if happened:
            require(seen[call.number] == times, "an acknowledged write is lost:", call)
        elif call.state == "ok":
            require(seen[call.number] == 0, call, "happened, though it was refused")
        else:
            require(seen[call.number] in (0, times), call, "happened in part or twice")
    for revision, changes in at.items():
        pair = [changes.get(key) for key in PAIR]
        require(pair[0] == pair[1], "half a transaction at", revision)
        require(len(changes) == (2 if pair[0] else 1), "two transactions have revision", revision)


def check_revisions(history):
    """A call made after a progress was received gets a later revision; reads are at least as recent."""
    for call in history.calls.values():
        if call.state != "ok":
            continue
        changes = call.kind in ("put", "pair", "end") or call.count and call.kind != "get"
        require(call.revision >= call.known, call, "is older than what was known:", call.known)
        require(not changes or call.revision > call.known, call, "takes a used revision", call.known)


def check_reads(history, log):
    """Gets and swaps saw the state at their revision, by replaying the log."""
    looks = [
        call
        for call in history.calls.values()
        if call.kind in ("get", "swap") and call.state == "ok"
    ]
    # A successful swap saw the state just before it.
    looks.sort(key=lambda call: call.revision - (call.kind == "swap" and call.count == 1))
    state, position, swaps = {}, 0, 0
    for call in looks:
        swapped = call.kind == "swap" and call.count == 1
        while position < len(log) and log[position][0] <= call.revision - swapped:
            revision, key, number = log[position]
            state[key] = (number, revision) if number else (0, 0)
            position += 1
        there = state.get(call.key, (0, 0))
        if call.kind == "get":
            require((call.found, call.changed) == there, call, "saw", call.found, call.changed,
                    "where was", there)  # fmt: skip
        else:
            require((there[1] == call.expected) == swapped, call, "expected", call.expected,
                    "where was", there)  # fmt: skip
            swaps += swapped
    # Including those with a lost progress: each change of such a key follows the expected one.
    numbers = {call.number: call for call in history.calls.values() if call.kind == "swap"}
    last = {}
    for revision, key, number in log:
        if number in numbers:
            require(numbers[number].expected == last.get(key, 0), numbers[number], "swapped",
                    last.get(key))  # fmt: skip
            last[key] = revision
    return swaps


def check_end(history, log):
    """The final content matches the log, with counts and revisions."""
    keys = {}
    for revision, key, number in log:
        _, created, _, version = keys.pop(key, (0, revision, 0, 0))
        if number:
            keys[key] = (number, created, revision, version + 1)
    require(keys == history.keys, "the end is not what happened:", keys, history.keys)


def check(lines):
    """Raises Wrong, or returns a summary."""
    history = History(lines)
    require(history.end is not None, "the history has no end")
    log = history.log()
    check_watchers(history, log)
    check_writes(history, log)
    check_revisions(history)
    swaps = check_reads(history, log)
    check_end(history, log)
    states = collections.Counter(call.state for call in history.calls.values())
    resumed = sum(len(lives) for lives in history.watchers.values())
    return {"calls": len(history.calls), "unknown": states["unknown"], "changes": len(log),
            "swaps": swaps, "watches": resumed}  # fmt: skip


def run(build, folder, kills, seed):
    """Writes a history to the directory and returns its path."""
    rng = random.Random(seed)
    path = folder / "history"
    with ClusterServer(build, folder) as server:
        clients = server.start_program(
            build / "tests" / "cluster" / "store_clients", str(seed), path
        )
        for _ in range(kills):
            responses = rng.randrange(1, ANSWERS)
            # They continue while we read, so the exact moment is random, too.
            while responses > 0:
                dots = len(clients.stdout.read1(responses))
                require(dots > 0, "the clients gave up:", clients.poll())
                responses -= dots
            server.kill()
            server.start()
        clients.stdin.close()
        while clients.stdout.read1(65536):
            pass
        require(clients.wait() == 0, "the clients failed")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    folder = options.build / "history"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        path = run(options.build, folder, options.kills, options.seed)
        seen = check(path.open())
    except Inconsistent as wrong:
        sys.exit(f"seed {options.seed}: {wrong}; see {folder / 'history'}")
    print(f"seed {options.seed}, {options.kills} kills:",
          ", ".join(f"{count} {what}" for what, count in seen.items()))  # fmt: skip


if __name__ == "__main__":
    main()
