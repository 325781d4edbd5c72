"""@grpc/grpc-js talks to our server, over mutual TLS and over a Unix socket."""

import json

import pytest

OK, CANCELLED, INVALID, DEADLINE, NOT_FOUND = 0, 1, 3, 4, 5
EXHAUSTED, UNIMPLEMENTED, UNAVAILABLE, UNAUTHENTICATED = 8, 12, 14, 16

STATS = {"kind": "unary", "method": "Stats"}


@pytest.fixture
def server(start_server):
    return start_server()


@pytest.mark.parametrize("unix", [False, True], ids=["tls", "unix"])
def test_every_kind_of_call_is_answered(server, client, unix):
    unary, empty, download, upload, chat, stats = client(
        server,
        [
            {"kind": "unary", "method": "Unary", "send": "hello"},
            {"kind": "unary", "method": "Unary"},
            {"kind": "download", "method": "Download", "send": "500 10000"},
            {"kind": "upload", "method": "Upload", "count": 300, "size": 10000},
            {"kind": "chat", "method": "Chat", "words": ["one", "two", "", "three"]},
            STATS,
        ],
        unix=unix,
    )
    assert (unary["code"], unary["last"]) == (OK, "hello")
    assert (empty["code"], empty["bytes"]) == (OK, 0)
    assert (download["code"], download["messages"], download["bytes"]) == (OK, 500, 5000000)
    assert download["details"] == "all sent"
    assert (upload["code"], upload["last"]) == (OK, "300 3000000")
    assert (chat["code"], chat["messages"], chat["last"], chat["details"]) == (OK, 4, "three", "bye")
    known = json.loads(stats["last"])
    assert known["local"] == unix
    assert known["node"] == ("" if unix else "web1")
    assert known["finished"] == 5
    assert known["connections"] == 1


def test_statuses_arrive_with_their_messages(server, client):
    done = client(
        server,
        [
            {"kind": "unary", "method": "Unary", "send": "status 5 no such thing"},
            {"kind": "unary", "method": "Unary", "send": "status 9 100 % ä\nß"},
            {"kind": "unary", "method": "Missing", "send": "x"},
            {"kind": "download", "method": "Download", "send": "nonsense"},
        ],
    )
    assert [(one["code"], one["details"]) for one in done] == [
        (NOT_FOUND, "no such thing"),
        (9, "100 % ä\nß"),
        (UNIMPLEMENTED, "unknown method"),
        (INVALID, "say COUNT SIZE"),
    ]


def test_a_deadline_cancels_the_call_on_both_sides(server, client):
    _, expired, known = client(
        server,
        [
            STATS,
            {"kind": "download", "method": "Wait", "timeout": 500},
            {"kind": "until", "counts": {"waiting": 0}},
        ],
    )
    assert (expired["code"], expired["messages"]) == (DEADLINE, 1)
    assert known["waiting"] == 0
    assert known["canceled"] + known["expired"] == 1


def test_a_canceled_call_is_canceled_on_the_server(server, client):
    canceled, partly, known = client(
        server,
        [
            {"kind": "download", "method": "Wait", "cancelAfter": 1},
            {"kind": "download", "method": "Download", "send": "100000 10000", "cancelAfter": 3},
            {"kind": "until", "counts": {"canceled": 2}},
        ],
    )
    assert canceled["code"] == CANCELLED
    assert partly["code"] == CANCELLED
    assert known["waiting"] == 0
    assert known["canceled"] == 2


def test_a_too_large_message_is_rejected_and_others_continue(server, client):
    large, too_large, headers, fine = client(
        server,
        [
            {"kind": "unary", "method": "Unary", "bytes": 1 << 20},
            {"kind": "unary", "method": "Unary", "bytes": (1 << 20) + 1},
            {"kind": "unary", "method": "Unary", "metadata": {"x-large": "x" * 9000}},
            {"kind": "unary", "method": "Unary", "send": "fine"},
        ],
    )
    assert (large["code"], large["bytes"]) == (OK, 1 << 20)
    assert too_large["code"] == EXHAUSTED
    assert headers["code"] == EXHAUSTED
    assert (fine["code"], fine["last"]) == (OK, "fine")


def test_many_calls_at_once_are_all_answered(server, client):
    many, stats = client(
        server,
        [{"kind": "unary", "method": "Unary", "send": "x" * 1000, "times": 1000}, STATS],
    )
    assert [one["code"] for one in many] == [OK] * 1000
    assert json.loads(stats["last"])["connections"] == 1


def test_unauthenticated_clients_get_nothing(server, client):
    call = [{"kind": "unary", "method": "Missing", "send": "x", "timeout": 20000}]
    assert client(server, call, certificate=None)[0]["code"] == UNAVAILABLE
    assert client(server, call, certificate="foreign")[0]["code"] == UNAVAILABLE
    # Known to the CA, but not as a node: it does not learn which methods exist.
    nameless = client(server, call, certificate="nameless")[0]
    assert (nameless["code"], nameless["details"]) == (
        UNAUTHENTICATED,
        "the certificate names no node",
    )
