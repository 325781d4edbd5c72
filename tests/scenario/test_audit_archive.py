"""Old entries of the audit log move into files, and remain one hash chain with the log."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess

import api_client
import daemons
import pytest
from test_audit import bearer, entries, set_title

GENESIS = "0" * 64
OLD = 8  # days: older than what is always kept


def fill(cluster, count, days=OLD):
    """Adds so many old entries to its log; it is stopped."""
    filler = pathlib.Path(cluster.eden_path).parent / "tests/scenario/audit_filler"
    subprocess.run([filler, cluster.state / "server/store", str(count), str(days)], check=True)


@pytest.fixture
def filled(cluster):
    """Starts the server with so many old entries in its log."""

    def start(count, days=OLD):
        fill(cluster, count, days)
        cluster.start()
        return cluster

    return start


def archive(cluster, *words, **more):
    return cluster.call("audit", "archive", "--to", *words, **more)


def verify(cluster, *files, code=0):
    done = cluster.call("audit", "verify", *files, check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout + done.stderr


def state_of(cluster):
    return api_client.call(cluster, "GET", "/v1/audit-entries?limit=1")[1]


def drop(cluster, sequence, digest):
    return api_client.call(cluster, "POST", f"/v1/audit/{sequence}/archive", {"hash": digest})


def entry(cluster, sequence):
    response = api_client.call(cluster, "GET", f"/v1/audit-entries?from={sequence}&limit=1")[1]
    return json.loads(response["entries"][0])


def check_by_hand(path, first, last, previous):
    """As any user can, without eden; returns the last hash."""
    head, *lines = path.read_text().splitlines()
    head = json.loads(head)
    assert head["format"] == "eden.audit-archive/1" and head["cluster"] == "blue"
    assert (head["first"], head["last"], head["previous"]) == (first, last, previous)
    assert len(lines) == last - first + 1
    for number, line in enumerate(lines, first):
        each = json.loads(line)
        assert (each["sequence"], each["previous"]) == (number, previous)
        previous = each.pop("hash")
        text = json.dumps(each, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == previous
    assert head["hash"] == previous
    return previous


def test_archived_entries_are_in_a_file_and_the_log_continues(filled):
    cluster = filled(1500)
    first, second = cluster.folder / "a1.ndjson", cluster.folder / "a2.ndjson"
    printed = archive(cluster, first, "--keep", "1200", "--reason", "it grows").stdout
    assert "moved entries 1 to 300 to" in printed
    assert os.stat(first).st_mode & 0o777 == 0o600
    last = check_by_hand(first, 1, 300, GENESIS)
    assert last in printed
    assert not list(cluster.folder.glob("*.new"))
    response = verify(cluster)
    assert "entries 1 to 300 were archived on 2" in response and "by user:root (uid 0)" in response
    assert last in response and "the chain of 1202 entries is intact" in response
    asked, done = entries(cluster)[-2:]
    assert [(each["verb"], each["kind"], each["name"], each["outcome"], each["reason"])
            for each in (asked, done)] == [("archive", "Audit", "300", outcome, "it grows")
                                           for outcome in ("asked", "done")]

    made = json.loads(archive(cluster, second, "-o", "json").stdout)
    assert (made["first"], made["last"], made["entries"]) == (301, 502, 202)
    assert check_by_hand(second, 301, 502, last) == made["hash"]
    response = verify(cluster, second, first)
    assert response.index("a1.ndjson") < response.index("a2.ndjson")
    assert "the server's log continues after entry 502" in response
    elsewhere = cluster.eden("audit", "verify", first, "--run-dir", cluster.folder / "none")
    assert "entries 1 to 300 of 'blue' are intact" in elsewhere.stdout
    assert "not checked against a server's log" in elsewhere.stderr
    assert "the archive of entries 301 to 502 is missing" in verify(cluster, first, code=1)
    assert "none of the files has entries 1 to 300" in verify(cluster, second)


def test_archived_entries_are_not_merely_absent(filled):
    cluster = filled(1100)
    token = api_client.call(cluster, "GET", "/v1/audit?limit=1000")[1]["metadata"]["continue"]
    archive(cluster, cluster.folder / "a.ndjson")
    status, response = api_client.call(cluster, "GET", "/v1/audit/7")
    assert status == 404 and "entry 7 is archived" in response["detail"]
    status, response = api_client.call(cluster, "GET", "/v1/audit-entries?from=7")
    assert status == 404 and "entries up to 100 are archived" in response["detail"]
    status, response = api_client.call(cluster, "GET", "/v1/audit/101")
    assert status == 200
    # An earlier position with nothing after it any more.
    status, response = api_client.call(cluster, "GET", f"/v1/audit?continue={token}")
    assert status == 200 and response["items"] == []
    assert response["metadata"]["archived"] == 100 and not response["metadata"]["truncated"]
    assert api_client.call(cluster, "GET", "/v1/audit?limit=1")[1]["metadata"]["archived"] == 100
    archive(cluster, cluster.folder / "b.ndjson")  # what the first has added
    response = api_client.call(cluster, "GET", "/v1/audit?limit=1000")[1]
    assert response["metadata"]["archived"] == 102 and response["metadata"]["truncated"]
    assert cluster.call("audit", "tail", "-n", "5").stderr == ""


def test_a_changed_file_is_reported_before_a_missing_one(filled):
    cluster = filled(1500)
    first, second = cluster.folder / "a1.ndjson", cluster.folder / "a2.ndjson"
    archive(cluster, first, "--keep", "1200")
    archive(cluster, second)
    assert "so the archive of entries" in verify(cluster, first, code=1)
    first.write_text(first.read_text().replace("10.0.0.7", "10.0.0.8", 1))
    printed = verify(cluster, first, code=1)
    assert "line 2" in printed and "was changed" in printed


def test_recent_entries_are_not_archived(filled):
    cluster = filled(1300, days=6)
    made = archive(cluster, cluster.folder / "a.ndjson")
    assert "nothing to archive" in made.stdout
    assert not (cluster.folder / "a.ndjson").exists()
    status, response = drop(cluster, 300, entry(cluster, 300)["hash"])
    assert status == 409 and "entries of the last 7 days stay" in response["detail"]
    status, response = drop(cluster, 400, entry(cluster, 400)["hash"])
    assert status == 409 and "newest 1000 entries stay" in response["detail"]
    assert state_of(cluster)["archived"] is None


def test_dates_times_and_ages_limit_it(filled):
    cluster = filled(1400)
    times = [json.loads(text)["time_ms"] // 1000 for text in api_client.call(
        cluster, "GET", "/v1/audit-entries?limit=400")[1]["entries"]]
    date = subprocess.run(["date", "-u", "-d", f"@{times[100] + 1}", "+%Y-%m-%dT%H:%M:%SZ"],
                          capture_output=True, text=True, check=True).stdout.strip()
    made = json.loads(archive(cluster, cluster.folder / "a", "--before", date, "-o", "json").stdout)
    assert made["last"] == 101
    for before in ("2020-01-31", "30d"):
        made = archive(cluster, cluster.folder / "b", "--before", before)
        assert "nothing to archive" in made.stdout
    made = json.loads(archive(cluster, cluster.folder / "b", "--before", "8d", "-o", "json").stdout)
    assert made["first"] == 102 and made["last"] >= 400
    for words in (("x", "--before", "soon"), ("x", "--keep", "-1")):
        assert archive(cluster, *words, check=False).returncode == 64
    assert cluster.call("audit", "archive", check=False).returncode == 64


def test_an_archive_of_another_log_drops_nothing(filled):
    cluster = filled(1300)
    status, response = drop(cluster, 200, "ab" * 32)
    assert status == 409 and "a different hash" in response["detail"]
    assert drop(cluster, 0, "ab" * 32)[0] == 404
    assert drop(cluster, 5000, "ab" * 32)[0] == 404
    assert drop(cluster, "x", "ab" * 32)[0] == 400
    assert drop(cluster, 200, "ab")[0] == 400
    assert state_of(cluster)["archived"] is None
    failed = [each for each in entries(cluster) if each["verb"] == "archive"]
    assert [each["outcome"] for each in failed] == ["asked", "failed"] * 5


def test_archiving_requires_permission(filled):
    cluster = filled(1300)
    body = {"hash": entry(cluster, 300)["hash"]}
    for role in ("viewer", "operator"):
        status, response = bearer(cluster, role)("POST", "/v1/audit/300/archive", body)
        assert status == 403 and "'archive' on Audit" in response["detail"]
    assert state_of(cluster)["archived"] is None
    assert api_client.call(cluster, "PUT", "/v1/roles/archivist", {"spec": {"rules": [
        {"verbs": ["archive", "list"], "kinds": ["Audit"]}]}})[0] == 201
    status, response = bearer(cluster, "archivist", label="cyd")("POST", "/v1/audit/300/archive", body)
    assert status == 200 and response["dropped"] == 300
    assert response["archived"]["who"].startswith("token:")
    assert "intact" in verify(cluster)


def test_a_changed_file_is_detected_with_its_line(filled):
    cluster = filled(1320)
    path = cluster.folder / "a.ndjson"
    archive(cluster, path)
    good = path.read_text()
    lines = good.splitlines(keepends=True)
    for changed, response in (
            (good.replace('"sequence":17,', '"sequence":17 ,'), "line 18: the entry is not in the log's format"),
            ("".join([*lines[:30], lines[30].replace("Config", "Node"), *lines[31:]]),
             "line 31: the entry was changed"),
            ("".join(lines[:50] + lines[51:]), "line 51: the entry has number 51"),
            ("".join(lines[:60]), "line 61: the log ends here"),
            (good[:-5], "line 321: truncated"),
            (good + lines[1], "line 322: "),
            ("".join(lines[1:]), "line 1: not an audit log archive"),
            ("", "line 1: "),
            (good.replace('"last":320', '"last":319'), "line 1: ")):
        path.write_text(changed)
        printed = verify(cluster, path, code=1)
        assert "a.ndjson: " in printed and "E0875" in printed
        assert response in printed or (response == "line 1: " and "a.ndjson" in printed), printed
        done = cluster.eden("audit", "verify", path, "--run-dir", cluster.folder / "none", check=False)
        assert done.returncode == 1
    path.write_text(good)
    verify(cluster, path)


def test_existing_files_are_never_replaced(filled):
    cluster = filled(1300)
    path = cluster.folder / "mine"
    path.write_text("precious\n")
    done = archive(cluster, path, check=False)
    assert done.returncode == 5 and "the file exists and cannot be extended" in done.stderr
    assert path.read_text() == "precious\n" and state_of(cluster)["archived"] is None
    archive(cluster, cluster.folder / "a.ndjson")
    done = archive(cluster, cluster.folder / "a.ndjson", check=False)
    assert done.returncode == 5 and "starts after 300" in done.stderr


def test_a_server_killed_while_dropping_entries_continues(filled):
    cluster = filled(21000)
    path = cluster.folder / "a.ndjson"
    process = api_client.start(cluster, "audit", "archive", "--to", path)
    connection = api_client.UnixConnection(cluster.run / "server/api.sock")
    while True:
        connection.request("GET", "/v1/audit-entries?limit=1")
        response = json.loads(connection.getresponse().read())
        if response["archived"] is not None:
            cluster.server.kill()
            break
    connection.close()
    _, err = process.communicate(timeout=daemons.LIMIT)
    assert process.returncode != 0 and "is complete" in err
    cluster.start()
    left = state_of(cluster)["archived"]
    assert left["last"] % 500 == 0 and 0 < left["last"] < 20000
    assert f"entries 1 to {left['last']} were archived" in verify(cluster)
    assert f"still has entries {left['last'] + 1} to 20000" in verify(cluster, path)
    done = archive(cluster, path)
    assert "already exists and is complete" in done.stderr and "entries 1 to 20000" in done.stdout
    assert state_of(cluster)["archived"]["last"] == 20000
    set_title(cluster, "more")
    archive(cluster, cluster.folder / "b.ndjson")
    assert "continues after entry 2000" in verify(cluster, path, cluster.folder / "b.ndjson")


def test_following_reports_entries_archived_meanwhile(filled):
    cluster = filled(1100)
    process = api_client.start(cluster, "audit", "tail", "--follow", "-n", "1", "-o", "name")
    assert api_client.next_line(process.stdout) == "1100\n"
    process.send_signal(signal.SIGSTOP)
    cluster.server.stop()
    fill(cluster, 1200)
    cluster.start()
    archive(cluster, cluster.folder / "a.ndjson")
    process.send_signal(signal.SIGCONT)
    assert api_client.next_line(process.stdout) == "1301\n"
    process.kill()
    assert "entries 1101 to 1300 are archived\n" in process.communicate()[1]


def test_archives_of_one_log_may_overlap(filled):
    cluster = filled(1500)
    whole, rest = cluster.folder / "whole", cluster.folder / "rest"
    archive(cluster, whole, "--keep", "1100")
    lines = whole.read_text().splitlines(keepends=True)
    head = json.loads(lines[0])
    # As if only half of it had been dropped, and then another file used.
    half = json.loads(lines[200])
    first = {**head, "last": 250, "hash": json.loads(lines[250])["hash"]}
    second = {**head, "first": 201, "previous": half["hash"]}
    (cluster.folder / "one").write_text("".join([json.dumps(first) + "\n", *lines[1:251]]))
    rest.write_text("".join([json.dumps(second) + "\n", *lines[201:]]))
    assert "continues after entry 400" in verify(cluster, cluster.folder / "one", rest)
    second["previous"] = head["hash"]
    rest.write_text("".join([json.dumps(second) + "\n", *lines[201:]]))
    assert "line 201: entry 200 has a different hash" in verify(cluster, cluster.folder / "one", rest,
                                                            code=1)


def test_a_backup_preserves_the_start_of_the_log(filled):
    cluster = filled(1300)
    archive(cluster, cluster.folder / "a.ndjson")
    kept = state_of(cluster)["archived"]
    cluster.call("backup", "create", "blue.backup")
    cluster.server.stop()
    cluster.eden("backup", "restore", "blue.backup", "--state-dir", cluster.folder / "back",
                 "--user", "root")
    cluster.state = cluster.folder / "back"
    cluster.start()
    assert state_of(cluster)["archived"] == kept and kept["last"] == 300
    assert "entries 1 to 300 were archived" in verify(cluster)
    assert "continues after entry 300" in verify(cluster, cluster.folder / "a.ndjson")


def test_entries_restored_from_a_backup_before_archiving_exist_twice(filled):
    cluster = filled(1300)
    cluster.call("backup", "create", "blue.backup")
    archive(cluster, cluster.folder / "a.ndjson", "--keep", "1102")
    cluster.server.stop()
    cluster.eden("backup", "restore", "blue.backup", "--state-dir", cluster.folder / "back",
                 "--user", "root")
    cluster.state = cluster.folder / "back"
    cluster.start()
    assert state_of(cluster)["archived"] is None
    assert "still has entries 1 to 200" in verify(cluster, cluster.folder / "a.ndjson")
    archive(cluster, cluster.folder / "a.ndjson")
    assert "continues after entry 200" in verify(cluster, cluster.folder / "a.ndjson")
