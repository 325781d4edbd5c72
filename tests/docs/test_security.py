"""The tests named in docs/security.md exist."""

import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def referred():
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    return sorted(set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){2,})`", text)))


@functools.cache
def written():
    """Every test function: in C those that a program runs, in Python all that pytest finds."""
    names = set()
    for path in [*(ROOT / "tests/unit").rglob("test_*.c"),
                 *(ROOT / "tests/contract").glob("test_*.c")]:
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^static void (\w+)\((?:void \*\*state|World \*world)\)$", text,
                               re.M):
            if len(re.findall(rf"\b{name}\b", text)) > 1:
                names.add(name)
    for path in (ROOT / "tests").rglob("test_*.py"):
        names.update(re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M))
    return names


def test_tests_are_referenced():
    assert len(referred()) > 40


@pytest.mark.parametrize("name", referred())
def test_a_referenced_test_exists(name):
    assert name in written()


def test_only_one_class_listens_without_tls():
    """All other listeners have TLS, or are Unix sockets (net/listener.c)."""
    found = {path.relative_to(ROOT / "src").as_posix()
             for path in (ROOT / "src").rglob("*.c")
             if re.search(r"\bis_without_tls\s*=", path.read_text(encoding="utf-8"))}
    assert found == {"net/plain_server.c"}
    listening = {path.relative_to(ROOT / "src").as_posix()
                 for path in (ROOT / "src").rglob("*.c")
                 if re.search(r"\blisten\(", path.read_text(encoding="utf-8"))}
    assert "net/listener.c" in listening
    assert listening <= {"net/listener.c", "net/relay.c"}, listening
