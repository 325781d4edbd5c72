"""What clients of a repeatedly killed server observe; and that the checker can fail."""

import os

import history
import pytest

KILLS = int(os.environ.get("EDEN_KILLS", "15"))
SEED = int(os.environ.get("EDEN_SEED", "1"))


def test_a_killed_server_loses_no_acknowledged_write(build, tmp_path):
    path = history.run(build, tmp_path, KILLS, SEED)
    seen = history.check(path.open())
    assert seen["changes"] > KILLS * 100
    assert seen["swaps"] > KILLS * 10
    assert seen["unknown"] > KILLS
    assert seen["watches"] > KILLS * 4


# Two clients and two watchers, the second of which reconnects.
GOOD = """\
call 1 put /history/key/1 11 0 0
resume 0 1
resume 1 1
ok 1 5 0 0 0
event 0 5 /history/key/1 11
progress 0 5
event 1 5 /history/key/1 11
call 2 pair /history/pair/0 12 0 5
ok 2 6 0 0 0
event 0 6 /history/pair/0 12
event 0 6 /history/pair/1 12
progress 0 6
resume 1 5
event 1 5 /history/key/1 11
event 1 6 /history/pair/0 12
event 1 6 /history/pair/1 12
progress 1 6
call 3 swap /history/swapped/1 13 0 6
call 4 swap /history/swapped/1 14 0 6
ok 3 7 1 0 0
ok 4 7 0 0 0
call 5 delete /history/key/1 0 0 7
unknown 5
call 6 put /history/key/2 15 0 7
unknown 6
call 7 get /history/swapped/1 0 0 7
ok 7 8 1 13 7
call 8 end /history/end 16 0 8
ok 8 9 0 0 0
event 0 7 /history/swapped/1 13
event 0 8 /history/key/1 0
event 0 9 /history/end 16
progress 0 9
event 1 7 /history/swapped/1 13
event 1 8 /history/key/1 0
event 1 9 /history/end 16
progress 1 9
key /history/pair/0 12 6 6 1
key /history/pair/1 12 6 6 1
key /history/swapped/1 13 7 7 1
key /history/end 16 9 9 1
end 9
"""

# The modification, and the expected complaint.
WRONG = [
    ("ok 1 5", "ok 1 4", "is at 5"),
    ("event 1 8 /history/key/1 0\n", "", "received"),
    ("event 1 7 /history/swapped/1 13\n", "event 1 7 /history/swapped/1 13\n" * 2, "received"),
    ("event 0 9 /history/end 16\n", "", "received"),
    ("progress 0 6\n", "progress 0 6\nprogress 0 5\n", "past revision"),
    ("event 0 7 /history/swapped/1 13\nevent 0 8 /history/key/1 0",
     "event 0 8 /history/key/1 0\nevent 0 7 /history/swapped/1 13", "out of order"),
    ("ok 3 7 1", "ok 3 7 0", "though it was refused"),
    ("ok 4 7 0", "ok 4 7 1", "is lost"),
    ("call 3 swap /history/swapped/1 13 0 6", "call 3 swap /history/swapped/1 13 3 6", "expected 3"),
    ("ok 7 8 1 13 7", "ok 7 8 0 0 0", "where was (13, 7)"),
    ("ok 7 8", "ok 7 6", "is older than what was known"),
    ("call 8 end /history/end 16 0 8", "call 8 end /history/end 16 0 9", "takes a used revision"),
    ("unknown 5", "ok 5 8 0 0 0", "nobody deleted"),
    ("unknown 5\n", "", "was never answered"),
    ("key /history/swapped/1 13 7 7 1", "key /history/swapped/1 13 7 7 2", "the end is not"),
    ("key /history/end 16 9 9 1\n", "", "the end is not"),
    ("unknown 6", "ok 6 8 0 0 0", "an acknowledged write is lost"),
    ("end 9\n", "", "has no end"),
]  # fmt: skip


def test_the_checker_accepts_consistent_histories():
    seen = history.check(GOOD.splitlines())
    assert seen == {"calls": 8, "unknown": 2, "changes": 6, "swaps": 1, "watches": 3}


@pytest.mark.parametrize("old, new, why", WRONG, ids=[row[2] + " " + row[1][:14] for row in WRONG])
def test_the_checker_rejects_inconsistent_histories(old, new, why):
    assert old in GOOD
    with pytest.raises(history.Inconsistent, match=why.replace("(", r"\(").replace(")", r"\)")):
        history.check(GOOD.replace(old, new, 1).splitlines())
