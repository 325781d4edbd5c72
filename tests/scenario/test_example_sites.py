"""The shipped sites are valid, and those that only need an empty folder can be applied."""

import json
import pathlib

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
# A site with its own modules has to be signed first: see test_extensions.py.
SITES = sorted(path.parent.parent.name for path in EXAMPLES.glob("*/jobs/base.yaml")
               if not (path.parent.parent / "modules").exists())
# Labels with which a site can be applied, and those with which its steps can only be planned,
# because they are commands that a root without programs cannot run.
APPLIED = {"shop": ["role=web"], "kubernetes": []}
PLANNED_ONLY = {"vnstat": [], "cluster": [], "kubernetes": ["role=kubernetes-worker"], "shop": ["role=db"]}
# Its jobs are only run by reactions.
CHECKED_ONLY = {"runbooks"}


def labels(given):
    return [word for label in given for word in ("--label", label)]


@pytest.fixture
def run(eden, tmp_path):
    """Runs plan, apply or graph on an example in a root that contains nothing but os-release."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/os-release").write_text("ID=debian\n")

    def run(command, site, given, *options):
        done = eden(command, EXAMPLES / site, "--root", root, "--state-dir", tmp_path / "state",
                    "--config-dir", tmp_path / "config", "--node", "web1", "-o", "json",
                    *labels(given), *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_every_site_is_tried():
    assert {*APPLIED, *PLANNED_ONLY, *CHECKED_ONLY} == set(SITES)


@pytest.mark.parametrize("site", SITES)
def test_example_sites_have_no_problems_and_no_hints(eden, site):
    done = eden("validate", EXAMPLES / site)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("site", sorted(PLANNED_ONLY))
def test_the_steps_of_a_site_can_be_ordered(run, site):
    assert run("graph", site, PLANNED_ONLY[site])["steps"]


@pytest.mark.parametrize("site", sorted(APPLIED))
def test_a_plan_changes_nothing_and_a_second_apply_does_nothing(run, tmp_path, site):
    before = sorted((tmp_path / "root").rglob("*"))
    assert run("plan", site, APPLIED[site])["result"] == "changed"
    assert sorted((tmp_path / "root").rglob("*")) == before
    first = run("apply", site, APPLIED[site])
    assert (first["result"], first["counts"]["failed"]) == ("changed", 0)
    assert run("plan", site, APPLIED[site])["counts"]["changed"] == 0
    again = run("apply", site, APPLIED[site])
    assert (again["result"], again["counts"]["changed"], again["owed"]) == ("ok", 0, [])


@pytest.mark.parametrize("order", ["ansible", "justdoit", "genius"])
def test_the_shop_reaches_the_same_state_in_every_order(run, tmp_path, order):
    run("apply", "shop", ["role=web"], "--order", order)
    root = tmp_path / "root"
    files = {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}
    assert files == {
        "etc/hosts", "etc/motd", "etc/os-release", "etc/ssh/sshd_config", "etc/web/database",
        "etc/web/sites/books.conf", "etc/web/sites/tea.conf", "srv/shop/current",
        "srv/shop/release.yaml",
    }
    assert (root / "srv/shop/current").readlink() == pathlib.Path("releases/1.4")
    assert "http://tea.example.com:8002/" in (root / "etc/motd").read_text()
    assert (root / "etc/web/database").stat().st_mode & 0o777 == 0o600


def test_requisites_of_the_shop_behave_as_documented(run, tmp_path):
    run("apply", "shop", ["role=web"])
    site = tmp_path / "root/etc/web/sites/tea.conf"
    right = site.read_text()
    site.write_text("wrong\n")
    (site.parent / "gone.conf").write_text("a shop that is no longer there\n")
    done = run("apply", "shop", ["role=web"])
    result = {step["name"]: step["result"] for step in done["steps"]}
    cause = {step["name"]: step["cause"] for step in done["steps"]}
    assert (site.read_text(), (site.parent / "gone.conf").exists()) == (right, False)
    assert (result["a site per shop[tea]"], cause["a site per shop[tea]"]) == ("changed", "drift")
    assert (result["the web server"], cause["the web server"]) == ("changed", None)
    assert result["tell the monitoring"] == "changed"
    assert result["close the shops"] == result["open the shops again"] == "skipped"
    assert "correct-horse" not in json.dumps(done)


def test_a_new_release_closes_the_shop_and_opens_it_again(run):
    run("apply", "shop", ["role=web"])
    done = run("apply", "shop", ["role=web"], "-D", 'release:={"version": "1.5"}')
    order = {step["name"]: step["run_order"] for step in done["steps"]}
    changed = {step["name"] for step in done["steps"] if step["changed"]}
    names = ["close the shops", "the release", "the current release", "open the shops again"]
    assert changed == set(names)
    assert sorted(names, key=order.get) == names
