"""eden facts describes this machine, or the system in another root."""

import json
import os

import pytest
import yaml

NAMES = [
    "name", "fqdn", "os", "os_family", "os_version", "arch", "kernel", "cpus", "memory", "disks",
    "interfaces", "default_interface", "ipv4", "ipv6", "virtualization", "init_system", "package_manager",
    "timezone", "boot_id", "machine_id", "users",
]  # fmt: skip


@pytest.fixture
def image(tmp_path):
    """An installed system that does not run."""
    etc = tmp_path / "image" / "etc"
    etc.mkdir(parents=True)
    (etc / "hostname").write_text("db7\n")
    (etc / "os-release").write_text('ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n')
    (etc / "passwd").write_text("root:x:0:0::/root:/bin/sh\nweb:x:1001:100:W:/srv:/bin/false\n")
    (etc / "localtime").symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    return etc.parent


def test_json_contains_every_fact_of_this_machine(eden):
    done = eden("facts", "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    assert list(facts) == NAMES
    assert facts["kernel"] == os.uname().release
    assert facts["arch"] == os.uname().machine
    assert facts["name"] == os.uname().nodename.split(".")[0]
    assert facts["cpus"] == os.cpu_count()
    assert facts["users"]["root"]["uid"] == 0


def test_two_runs_print_the_same(eden):
    assert eden("facts", "-o", "json").stdout == eden("facts", "-o", "json").stdout


def test_named_facts_are_printed_alone_and_in_that_order(eden, image):
    done = eden("facts", "os_version", "os", "--root", image, "-o", "json")
    assert list(json.loads(done.stdout).items()) == [("os_version", "24.04"), ("os", "ubuntu")]


def test_the_table_has_a_row_for_each_value(eden, image):
    done = eden("facts", "name", "timezone", "users", "--root", image)
    assert done.stdout == (
        "FACT        VALUE\n"
        "name        db7\n"
        "timezone    Asia/Tokyo\n"
        'users.root  {"uid": 0, "gid": 0, "comment": "", "home": "/root", "shell": "/bin/sh"}\n'
        'users.web   {"uid": 1001, "gid": 100, "comment": "W", "home": "/srv", '
        '"shell": "/bin/false"}\n'
    )


def test_yaml_contains_the_same(eden, image):
    texts = [eden("facts", "--root", image, "-o", kind).stdout for kind in ("json", "yaml")]
    assert json.loads(texts[0]) == yaml.safe_load(texts[1])


def test_british_spelling_is_accepted(eden):
    done = eden("facts", "virtualisation", "-o", "json")
    assert list(json.loads(done.stdout)) == ["virtualization"]


def test_an_unknown_fact_is_a_usage_error_with_a_suggestion(eden):
    done = eden("facts", "os_famly")
    assert done.returncode == 64
    assert done.stdout == ""
    assert "fact 'os_famly' not found; did you mean 'os_family'?" in done.stderr


def test_all_unknown_names_are_reported_at_once(eden):
    done = eden("facts", "os_famly", "name", "kernal")
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == ("eden facts: fact 'os_famly' not found; did you mean 'os_family'?\n"
                           "eden facts: fact 'kernal' not found; did you mean 'kernel'?\n"
                           "  see: eden help facts\n")
    done = eden("facts", "os_famly", "kernal", "--node", "web1", "-o", "json")
    assert done.returncode == 64
    assert [one["hint"] for one in json.loads(done.stdout)["problems"]] == [
        "did you mean 'os_family'?", "did you mean 'kernel'?"]
    done = eden("facts", "memory.totl", "memory.nothing")
    assert done.returncode == 64
    assert "'memory.totl' not found; did you mean 'memory.total'?" in done.stderr
    assert "fact 'memory.nothing' not found\n" in done.stderr


def test_an_unreadable_source_is_a_warning(eden, image):
    (image / "etc" / "passwd").unlink()
    (image / "etc" / "passwd").mkdir()
    done = eden("facts", "users", "os", "--root", image, "-o", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"users": None, "os": "ubuntu"}
    assert "warning[E0580]: fact 'users': /etc/passwd: Is a directory" in done.stderr


def test_a_missing_root_is_an_error(eden):
    done = eden("facts", "--root", "nowhere")
    assert done.returncode == 1
    assert "No such file or directory\n  --> nowhere" in done.stderr


def test_the_list_describes_each_fact(eden):
    listed = json.loads(eden("facts", "--list", "-o", "json").stdout)
    assert [row["name"] for row in listed] == NAMES
    assert all(row["help"].endswith(".") for row in listed)
    assert "The host name without the domain." in eden("facts", "--list").stdout


def test_a_part_of_a_fact_has_the_name_that_the_table_shows(eden):
    total = json.loads(eden("facts", "memory", "-o", "json").stdout)["memory"]["total"]
    assert json.loads(eden("facts", "memory.total", "-o", "json").stdout) == {"memory.total": total}
    assert eden("facts", "memory.total").stdout.splitlines()[1] == f"memory.total  {total}"
    done = eden("facts", "memory.nothing")
    assert done.returncode == 64
    assert "fact 'memory.nothing' not found" in done.stderr
