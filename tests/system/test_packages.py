"""Packages with apt: batches, which step is at fault, versions, configuration files."""

import json
import re

import pytest
from apt_hosts import installed, ready, start_apply, status, step, transactions, unfinished, version
from lab import repos

BOTH = ["bookworm", "trixie"]
MANY = [f"lab-many-{i:02}" for i in range(1, 31)]


@pytest.fixture(params=BOTH)
def host(request, light):
    return ready(light(request.param, repos=True))


# --- Batches -------------------------------------------------------------------------------------


def test_thirty_steps_are_one_transaction_with_a_result_each(host):
    steps = [*installed(*MANY[:15]), *installed("lab-greets"), *installed(*MANY[15:])]
    done = host.apply(steps, "--order", "genius")
    assert (done.exit, done.result) == (0, "changed")
    assert transactions(host) == 1
    for name in MANY:
        assert done.steps[name].changes == {name: {"new": "1.0"}}
        assert done.steps[name].state == "installed"
    # Dependencies are attributed to the step that installed them.
    assert done.steps["lab-greets"].changes == {
        "lab-greets": {"new": "1.0"}, "lab-hello": {"new": "2.0"},
    }  # fmt: skip
    assert host.apply(steps, "--order", "genius").result == "ok"
    assert transactions(host) == 1
    removed = [step("removed", name) for name in MANY]
    assert host.apply(removed, "--order", "genius").result == "changed"
    assert transactions(host) == 2


@pytest.mark.parametrize("order", ["genius", "justdoit", "ansible"])
def test_unavailable_packages_do_not_block_the_rest(light, order):
    """Unknown names and versions, unsatisfiable dependencies, conflicts, a script that fails."""
    host = ready(light("bookworm", repos=True))
    steps = [
        *installed(*MANY[:4], "lab-nothing", "lab-impossible", "lab-broken", "lab-hello",
                   "lab-alone", *MANY[4:8]),
        {"name": "no such version", "pkg.installed": {"name": "lab-config", "version": "7.*"}},
        *installed("lab-greets", "lab-asks"),
    ]  # fmt: skip
    done = host.apply(steps, "--order", order)
    assert done.exit == 1
    failed = {step.name: step.error.message for step in done.listed if step.result == "failed"}
    assert failed.pop("lab-nothing") == "no repository has 'lab-nothing'"
    assert failed.pop("no such version") == (
        "no version 7.* of 'lab-config' is available; available versions: 2.0, 1.0"
    )
    assert "Depends: lab-nowhere but it is not installable" in failed.pop("lab-impossible")
    assert "the moon is in the wrong phase" in failed.pop("lab-broken")
    # They conflict: the first one stays.
    assert failed.keys() in ({"lab-alone"}, {"lab-hello", "lab-greets"})
    there = {"lab-hello", "lab-greets", "lab-alone"} - failed.keys()
    for name in [*MANY[:8], "lab-asks", *there]:
        assert done.steps[name].result == "changed"
        assert status(host, name) == "installed"


def test_nothing_is_removed_without_being_asked(host):
    assert host.apply(installed("lab-greets")).result == "changed"
    steps = installed("lab-alone")
    for order in ("ansible", "genius"):
        assert host.apply(steps, "--order", order).errors == (
            "'lab-alone' could not be installed: 'lab-greets', 'lab-hello' would be removed for it; "
            "set 'allow_removals: true' to allow that"
        )
    assert status(host, "lab-greets") == status(host, "lab-hello") == "installed"
    done = host.apply(installed("lab-alone", allow_removals=True)).steps["lab-alone"]
    assert done.changes == {"lab-alone": {"new": "1.0"}, "lab-greets": {"old": "1.0"},
                            "lab-hello": {"old": "2.0"}}  # fmt: skip


@pytest.mark.parametrize("purge", [False, True])
def test_plan_names_all_that_would_be_removed(host, purge):
    assert host.apply(installed("lab-greets")).result == "changed"
    gone = {"lab-hello": {"old": "2.0"}, "lab-greets": {"old": "1.0"}}
    steps = [step("removed", "lab-hello", purge=purge)]
    assert host.plan(steps).steps["lab-hello"].changes == gone
    assert host.apply(steps).steps["lab-hello"].changes == gone


def test_unneeded_packages_do_not_interfere(host):
    """apt may be configured to remove that whenever it installs something."""
    host.write("/etc/apt/apt.conf.d/50remove", 'APT::Get::AutomaticRemove "true";\n')
    host.run("apt-get -qq -y install lab-hello && apt-mark auto lab-hello")
    assert host.apply(installed("lab-many-01")).result == "changed"


def test_misspelled_name_suggests_the_right_one(host):
    planned = host.plan(installed("lab-helo")).steps["lab-helo"]
    assert "did you mean 'lab-hello'?" in planned.error.message
    error = host.apply(installed("lab-helo")).steps["lab-helo"].error.message
    assert error == "no repository has 'lab-helo'; did you mean 'lab-hello'?"


def test_missing_privileges_are_reported_at_once(light):
    host = ready(light("bookworm", repos=True))
    path = host.put_site(installed("lab-hello"))
    done = host.run(["setpriv", "--reuid=1000", "--clear-groups", "eden", "apply", path, "-o",
                     "json", "--progress", "none", "--state-dir", "/tmp/state"],
                    check=False, timeout=60)  # fmt: skip
    [failed] = json.loads(done.stdout)["steps"]
    assert "Permission denied" in failed["error"]["message"]


def test_sequential_and_batched_installs_give_the_same_result(light):
    ends = []
    for order in ("ansible", "justdoit", "genius"):
        host = ready(light("bookworm", repos=True))
        steps = [*installed("lab-greets", *MANY[:5]), step("removed", "lab-config"),
                 *installed("vnstat")]  # fmt: skip
        assert host.apply(steps, "--order", order).result == "changed"
        ends.append(host.run(["dpkg-query", "-W"]).stdout)
    assert ends[0] == ends[1] == ends[2]


# --- Versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "constraint, got", [("1.1", "1.1"), ("1.*", "1.1"), (">=1.0, <2", "1.1"), ("<=1.0", "1.0"),
                        (">1.1", "2.0"), ("*", "2.0")],
)  # fmt: skip
def test_version_is_chosen(light, constraint, got):
    host = ready(light("bookworm", repos=True))
    steps = installed("lab-hello", version=constraint)
    planned = host.plan(steps).steps["lab-hello"]
    assert planned.changes == {"lab-hello": {"new": got}}
    done = host.apply(steps).steps["lab-hello"]
    assert done.changes == {"lab-hello": {"new": got}}
    assert host.apply(steps).result == "ok"


def test_downgrade_requires_permission(host):
    assert host.apply(installed("lab-hello")).result == "changed"
    done = host.apply(installed("lab-hello", version="1.0"))
    assert done.errors == ("'lab-hello' is installed in version 2.0, newer than 1.0; "
                           "set 'allow_downgrade: true' to allow a downgrade")  # fmt: skip
    steps = installed("lab-hello", version="1.*", allow_downgrade=True)
    assert host.apply(steps).steps["lab-hello"].changes == {
        "lab-hello": {"old": "2.0", "new": "1.1"}
    }
    assert host.apply([step("latest", "lab-hello")]).steps["lab-hello"].changes == {
        "lab-hello": {"old": "1.1", "new": "2.0"}
    }


def test_held_package_is_unchanged_until_released(host):
    assert host.apply(installed("lab-hello", version="1.0")).result == "changed"
    assert host.apply([step("held", "lab-hello")]).result == "changed"
    assert "'lab-hello' is held at version 1.0" in host.apply([step("latest", "lab-hello")]).errors
    release = {"name": "let go", "pkg.held": {"name": "lab-hello", "hold": False}}
    letting_go = [release, step("latest", "lab-hello")]
    assert host.plan(letting_go).result == "changed"
    assert "'lab-hello' is held at version 1.0" in host.plan([step("latest", "lab-hello")]).errors
    assert host.apply(letting_go).result == "changed"


def test_everything_is_upgraded_and_a_macro_sees_it(host):
    assert host.apply(installed("lab-hello", "lab-config", version="1.0")).result == "changed"
    site = """
- name: tell
  cmd.run:
    - cmd: echo "{{ macros['pkg.uptodate']() }}"
- name: all of it
  pkg.uptodate:
    - refresh: true
- name: tell again
  cmd.run:
    - cmd: echo "{{ macros['pkg.uptodate']() }}"
"""
    done = host.apply(site)
    assert done.steps["tell"].stdout == "False\n"
    assert done.steps["all of it"].changes == {
        "lab-hello": {"old": "1.0", "new": "2.0"}, "lab-config": {"old": "1.0", "new": "2.0"},
    }  # fmt: skip
    assert host.apply(site).steps["tell"].stdout == "True\n"


def test_requisites_find_packages_by_each_name(light):
    host = ready(light("bookworm", repos=True))
    done = host.apply("""
- name: note
  cmd.run:
    - cmd: echo changed
  onchanges:
    - pkg: lab-config
- name: several
  pkg.installed:
    - pkgs: [lab-hello: '1.1', lab-config]
""")
    assert done.steps["note"].result == "changed"
    assert version(host, "lab-hello") == "1.1"


def test_automatically_installed_package_becomes_manual(host):
    host.run("apt-get -qq -y install lab-greets")
    assert "lab-hello" in host.run("apt-mark showauto").stdout
    planned = host.plan(installed("lab-hello")).steps["lab-hello"]
    assert planned.changes == {"lab-hello": {"old": "automatic", "new": "wanted"}}
    assert host.apply(installed("lab-hello")).result == "changed"
    assert host.apply(installed("lab-hello")).result == "ok"
    host.run("apt-get -qq -y purge lab-greets && apt-get -qq -y autoremove")
    assert status(host, "lab-hello") == "installed"


# --- Questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy, stays", [("keep", "mine"), ("replace", "As of version 2.0")])
def test_changed_configuration_file_is_handled_by_policy(host, policy, stays):
    assert host.apply(installed("lab-config", version="1.0")).result == "changed"
    host.write("/etc/lab-config.conf", "mine\n")
    steps = [step("latest", "lab-config", conffiles=policy)]
    assert host.apply(steps).result == "changed"
    assert stays in host.read("/etc/lab-config.conf")
    assert version(host, "lab-config") == "2.0"


def test_debconf_does_not_prompt(host):
    done = host.apply(installed("lab-asks"), timeout=60)
    assert done.result == "changed"
    assert host.read("/etc/lab-asks.answer") == "blue\n"


def test_failed_script_is_quoted_and_its_package_is_installed_once_it_works(host):
    done = host.apply(installed("lab-broken"))
    failed = done.steps["lab-broken"]
    assert failed.error.message.endswith("lab-broken: the moon is in the wrong phase")
    assert failed.changed and failed.changes == {"lab-broken": {"new": "1.0 (half-configured)"}}
    assert "the moon is in the wrong phase" in failed.stdout
    # Other packages are not affected.
    assert host.apply(installed("lab-hello")).steps["lab-hello"].changes["lab-hello"] == {
        "new": "2.0"
    }
    host.write("/etc/lab-broken-repaired", "")
    done = host.apply(installed("lab-broken"))
    assert done.steps["lab-broken"].changes["lab-broken"] == {
        "old": "1.0 (half-configured)", "new": "1.0",
    }  # fmt: skip
    assert unfinished(host) == ""


# --- The index -----------------------------------------------------------------------------------


@pytest.fixture
def server(light):
    host = light("bookworm", repos=True)
    host.serve(repos.PLACE, 80, log="/var/log/served")
    return host


def refreshes(server):
    """How often the index was refreshed."""
    lines = server.run("cat /var/log/served || true").stdout.splitlines()
    return sum("Release" in line.split()[1] and "InRelease" in line for line in lines)


def source(name, server, folder, **params):
    return {"name": name, "pkgrepo.managed": {
        "name": name, "uris": f"http://{server.address}/{folder}", "suites": "./", **params}}


@pytest.mark.parametrize("order", ["genius", "justdoit", "ansible"])
def test_index_is_refreshed_once_for_all_steps(light, server, order):
    host = light("bookworm")
    steps = [source("lab", server, "apt", trusted=True),
             *installed(*MANY[:10], "lab-hello", refresh=True)]  # fmt: skip
    for one in steps[1:]:
        one["require"] = [{"pkgrepo": "lab"}]
    assert host.apply(steps, "--order", order).result == "changed"
    assert refreshes(server) == 1
    # Nothing to install: no index is needed.
    assert host.apply(steps, "--order", order).result == "ok"
    assert refreshes(server) == 1


def test_new_source_is_used_by_later_steps(light, server):
    host = light("bookworm")
    steps = [
        source("lab", server, "apt", trusted=True),
        *installed("lab-hello"),
        source("signed", server, "apt-signed", key_path="/srv/key.asc"),
        *installed("lab-config"),
    ]
    host.write("/srv/key.asc", server.read(f"{repos.PLACE}/keys/lab.asc"))
    done = host.apply(steps)
    assert done.result == "changed", done
    # Once for each change of the sources; the second refresh reads both.
    assert refreshes(server) == 3
    # An existing index is good enough for what it contains.
    assert host.apply(installed("lab-greets")).result == "changed"
    assert refreshes(server) == 3


def test_sources_come_first_in_mode_genius(light, server):
    host = light("bookworm")
    steps = [*installed("lab-hello"), source("lab", server, "apt", trusted=True)]
    assert host.apply(steps, "--order", "genius").result == "changed"


KEY = f"{repos.PLACE}/keys"


@pytest.mark.parametrize("by", ["key", "key_file", "key_path"])
@pytest.mark.parametrize("form", ["deb822", "oneline"])
def test_signed_source_works_with_its_key_in_every_form(light, server, by, form):
    host = light("bookworm")
    armored = server.read(f"{KEY}/lab.asc")
    host.write("/srv/lab.asc", armored)
    given = {"key": armored, "key_file": "lab.asc", "key_path": "/srv/lab.asc"}[by]
    steps = [source("lab", server, "apt-signed", format=form, **{by: given}),
             *installed("lab-hello")]  # fmt: skip
    done = host.apply({"jobs/base.yaml": "jobs: {'*': [{name: web}]}\n",
                       "jobs/web.yaml": json.dumps({"steps": steps}),
                       "files/lab.asc": armored})  # fmt: skip
    assert done.result == "changed", done
    gone = [{"name": "gone", "pkgrepo.absent": {"name": "lab"}}]
    assert host.apply(gone).result == "changed"
    assert host.run("ls /etc/apt/sources.list.d /etc/apt/keyrings || true").out.count("lab") == 0


# --- Broken repositories -------------------------------------------------------------------------


def test_wrong_signature_is_reported_and_others_continue(light, server):
    """A source signed with another key is not used; what is already known still is."""
    host = light("bookworm")
    host.write("/srv/other.asc", server.read(f"{KEY}/other.asc"))
    assert host.apply([source("good", server, "apt", trusted=True),
                       *installed("lab-hello")]).result == "changed"  # fmt: skip
    bad = source("bad", server, "apt-signed", key_path="/srv/other.asc")
    done = host.apply([bad, *installed("lab-config"), step("installed", "lab-asks", refresh=True)])
    assert done.steps["lab-config"].result == "changed"
    assert "using an outdated index" in done.steps["lab-config"].reason
    error = done.steps["lab-asks"].error.message
    assert "cannot refresh the package index" in error and "not signed" in error
    assert re.search("the key [0-9A-F]{16}, which is not installed", error)
    # Once it is fixed, everything works.
    host.write("/srv/other.asc", server.read(f"{KEY}/lab.asc"))
    assert host.apply([bad, step("installed", "lab-asks", refresh=True)]).result == "changed"


@pytest.mark.parametrize(
    "breakage, output",
    [
        ("rm Packages Packages.gz", "404"),
        ("rm Release InRelease Release.gpg", "does not have a Release file"),
        ("echo garbage >> Packages; rm Packages.gz", "unexpected size"),
        ("rm lab-hello_2.0_all.deb", "404"),
        ("echo garbage >> lab-hello_2.0_all.deb", "unexpected size"),
    ],
    ids=["no-packages", "no-release", "wrong-packages", "no-deb", "wrong-deb"],
)
def test_broken_repository_is_reported_and_the_next_run_recovers(light, server, breakage, output):
    folder = f"{repos.PLACE}/apt-signed"
    server.run(f"cp -a {folder} {folder}.whole; cd {folder}; {breakage}")
    host = light("bookworm")
    steps = [source("lab", server, "apt-signed", key=server.read(f"{KEY}/lab.asc")),
             *installed("lab-hello", *MANY[:2])]  # fmt: skip
    done = host.apply(steps, "--order", "genius")
    error = done.steps["lab-hello"].error.message
    assert output in error, error
    # A broken file is not the fault of other packages.
    if "lab-hello" in breakage:
        assert [done.steps[name].result for name in MANY[:2]] == ["changed", "changed"]
    server.run(f"rm -r {folder}; mv {folder}.whole {folder}")
    assert host.apply(steps, "--order", "genius").result == "changed"
    assert status(host, "lab-hello") == "installed"


def test_unreachable_server_is_reported(light):
    host = light("bookworm")
    steps = [{"name": "far", "pkgrepo.managed": {
        "name": "far", "uris": "http://10.99.250.1/x", "suites": "./", "trusted": True}},
        *installed("lab-hello")]  # fmt: skip
    host.write("/etc/apt/apt.conf.d/impatient", 'Acquire::http::Timeout "1";\n')
    error = host.apply(steps).steps["lab-hello"].error.message
    assert "no repository has 'lab-hello'" in error and "10.99.250.1" in error


def test_progress_is_one_line_each_for_many(light):
    """With line-based progress, one transaction is not repeated for each step."""
    host = ready(light("bookworm", repos=True))
    running = start_apply(host, installed(*MANY[:5]), "--order", "genius")
    out, output = running.communicate(timeout=60)
    assert json.loads(out)["result"] == "changed"
    events = [json.loads(line)["event"] for line in output.splitlines()]
    assert events.count("end") == 5
