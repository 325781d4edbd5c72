"""Templates designed to hang the program or to exhaust its memory end in an error that says so."""

import pytest


def numbered(form, count, begin="", end=""):
    return begin + "".join(form % i for i in range(count)) + end


MANY_SETS = numbered("{%%set a%d=1%%}", 30_000)

# The comment on each: once a hang of many seconds, gigabytes of memory, or an abort.
REFUSED = {
    "a list in every frame of a recursion": (
        "{% macro m() %}{{ [" + "1," * 40_000 + "m()] }}{% endmacro %}{{ m() }}"
    ),
    "a large macro in a loop": (
        "{% macro m() %}" + "{% if 0 %}{% endif %}" * 20_000 + "{% endmacro %}"
        "{% for i in range(10**7) %}{{ m() }}{% endfor %}"
    ),
    "more syntax tree than memory": "{{ [" + "1," * 1_500_000 + "] }}",
    "more parameters than slots": numbered("a%d,", 70_000, "{% macro m(", "z) %}{% endmacro %}"),
    "all variables for each of many includes": (
        MANY_SETS + "{% for a in [] %}{% include a %}{% endfor %}" * 10_000
    ),
    "a range as arguments": "{{ dict(*range(4 * 10**7)) }}",
    "a large map as arguments, again and again": (
        "{% macro m() %}{{ kwargs | length }}{% endmacro %}{% set d = {} %}"
        "{% for i in range(50000) %}{% do d.update({i | string: 1}) %}{% endfor %}"
        "{% for i in range(10**6) %}{{ m(**d) }}{% endfor %}"
    ),
    "a text for each of many items": "{{ range(4 * 10**7) | map('string') | list | length }}",
    "a list for each of many items": "{{ range(4 * 10**7) | batch(2) | list | length }}",
    "many different items": "{{ range(4 * 10**7) | unique | list | length }}",
    "comparing long texts again and again": (
        "{% set s = 'a' * 8000000 %}{% set t = 'a' * 7999999 ~ 'b' %}"
        "{% for i in range(10**7) %}{% if s == t or t in [s] %}{% endif %}{% endfor %}"
    ),
    "trimming a long text again and again": (
        "{% set s = ' ' * 8000000 %}{% for i in range(10**6) %}{{ s | trim }}{% endfor %}"
    ),
}

# Long, but nothing that a long list may not be.
RENDERED = {
    "a long list of targets": "{% for " + "a," * 100_000 + "a in [] %}{% endfor %}",
    "many keyword arguments": numbered("a%d=1,", 50_000, "{{ dict(", ") | length }}"),
    "many blocks": numbered("{%%block a%d%%}{%%endblock%%}", 40_000),
    "many includes in one scope": (
        numbered("{%%set a%d=1%%}", 5_000) + "{% include 'none' ignore missing %}" * 2_000
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_hits_a_limit(eden, name):
    done = eden("render", "-", input=REFUSED[name])
    assert done.returncode == 1, done.stderr[-500:]
    assert "error[E0213]" in done.stderr


@pytest.mark.parametrize("name", RENDERED)
def test_time_is_linear(eden, name):
    done = eden("render", "-", input=RENDERED[name])
    assert done.returncode == 0, done.stderr[-500:]
