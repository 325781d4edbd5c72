"""Locales that cannot be generated, and the error messages."""


def site(**params):
    return [{"name": "locale", "locale.present": [{key: value} for key, value in params.items()]}]


def test_without_the_package_it_names_what_to_install(light):
    host = light("trixie")
    host.run("rm /usr/sbin/locale-gen /usr/share/i18n/SUPPORTED")
    bring = {"name": "bring", "cmd.run": {"cmd": "perl -e 1"}, "order": "first"}
    planned = host.plan([bring, *site(name="de_DE.UTF-8")]).steps["locale"]
    assert planned.result in ("changed", "unknown")
    assert host.plan(site(name="de_DE.UTF-8")).steps["locale"].result == "failed"
    error = host.apply(site(name="de_DE.UTF-8")).steps["locale"].error
    assert "install the package locales" in error.message
    assert host.apply(site(name="C.UTF-8")).result == "ok"


def test_unknown_locale_is_reported_by_a_plan(light):
    host = light("trixie")
    for name, output in {"xx_XX.UTF-8": "no such locale", "de; reboot": "is not a locale"}.items():
        done = host.plan(site(name=name))
        assert done.exit != 0 and output in done.errors, done


def test_both_spellings_mean_the_same(light):
    host = light("bookworm")
    assert host.apply(site(name="de_DE.utf8")).result == "changed"
    assert host.read("/etc/locale.gen").count("\nde_DE.UTF-8 UTF-8\n") == 1
    assert host.apply(site(name="de_DE.UTF-8")).result == "ok"
