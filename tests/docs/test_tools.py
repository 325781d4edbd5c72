"""The scripts that check the tree can themselves be wrong."""

import json
import subprocess

import pytest


def run(root, tool, *args):
    return subprocess.run([root / "tools" / tool, *args], capture_output=True, text=True)


@pytest.fixture
def library(tmp_path):
    """Compiles C source to an object file."""

    def compile_text(text):
        source = tmp_path / "thing.c"
        source.write_text(text)
        target = tmp_path / "thing.o"
        subprocess.run(["cc", "-fPIE", "-fdata-sections", "-c", source, "-o", target], check=True)
        return target

    return compile_text


@pytest.mark.parametrize(
    "text",
    [
        "int counter;",
        "int counter = 3;",
        "int next(void) { static int counter; return ++counter; }",
        "_Thread_local int counter = 1;",
        "extern int other; int *counter = &other;",
    ],
)
def test_mutable_global_is_found(root, library, text):
    done = run(root, "check-globals", library(text))
    assert done.returncode == 1
    assert "counter" in done.stdout


def test_constant_tables_are_not_mutable_globals(root, library):
    text = 'const int a = 1; static const char *const names[] = {"x"}; const void *b(void) '
    done = run(root, "check-globals", library(text + "{ return names; }"))
    assert (done.returncode, done.stdout) == (0, "")


def test_allowed_global_passes(root, library):
    assert run(root, "check-globals", library("int log_sink;"), "log_sink").returncode == 0


def write_log(folder, *tests):
    logs = folder / "meson-logs"
    logs.mkdir()
    (logs / "testlog.json").write_text("".join(json.dumps(test) + "\n" for test in tests))
    return folder


CMOCKA_OK = {"result": "OK", "stderr": "[==========] 7 test(s) run.\n[  PASSED  ] 7 test(s).\n"}
CMOCKA_BAD = {
    "result": "FAIL",
    "stderr": "[  PASSED  ] 5 test(s).\n[  FAILED  ] tests: 2 test(s), listed below:\n",
}
PYTEST_BAD = {"result": "FAIL", "stdout": "== 1 failed, 20 passed, 3 skipped, 2 errors in 0.61s ==\n"}
PYTEST_OK = {"result": "OK", "stdout": "20 passed in 70.61s (0:01:10)\n"}
PLAIN_OK = {"result": "OK", "stdout": "12 inputs replayed\n"}
CRASH = {"result": "FAIL", "stderr": "Segmentation fault"}
TIMEOUT = {"result": "TIMEOUT"}
SKIP = {"result": "SKIP"}


@pytest.mark.parametrize(
    "tests, text",
    [
        ([CMOCKA_OK, PYTEST_OK, PLAIN_OK], "28 passed, 0 failed\n"),
        ([CMOCKA_OK, CMOCKA_BAD], "12 passed, 2 failed\n"),
        ([PYTEST_BAD], "20 passed, 3 failed, 3 skipped\n"),
        ([PLAIN_OK, CRASH, TIMEOUT, SKIP], "1 passed, 2 failed, 1 skipped\n"),
    ],
)
def test_summary_counts_cases(root, tmp_path, tests, text):
    done = run(root, "test-summary", write_log(tmp_path, *tests))
    assert done.stdout == text
    assert done.returncode == (0 if " 0 failed" in text else 1)


def test_summary_reads_a_log_by_name(root, tmp_path):
    log = write_log(tmp_path, CMOCKA_OK) / "meson-logs" / "testlog.json"
    assert run(root, "test-summary", log.rename(log.with_name("unit.json"))).stdout == "7 passed, 0 failed\n"


def test_summary_without_log_fails(root, tmp_path):
    assert run(root, "test-summary", tmp_path).returncode == 1


FOUND_LATER = """project('small')
if import('fs').exists('build/unpacked/library')
    configure_file(output: 'found', configuration: {'x': 1})
endif
"""


def test_a_build_is_reconfigured_after_packages_were_installed(root, tmp_path):
    """What was missing when it was configured is found: `make bench` after `make demo`."""

    def set_up(*options):
        done = subprocess.run(
            [root / "tools" / "setup-build", "build", *options], cwd=tmp_path, capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "meson.build").write_text(FOUND_LATER)
    (tmp_path / "meson_options.txt").write_text("option('color', type: 'string')\n")
    assert set_up() == "configuring build: defaults\n"
    assert set_up() == ""
    assert set_up("-Dcolor=red") == "configuring build: -Dcolor=red\n"
    assert set_up("-Dcolor=red") == set_up() == ""
    assert not (tmp_path / "build" / "found").exists()
    (tmp_path / "build" / "unpacked" / "library").mkdir(parents=True)
    assert set_up() == "configuring build: defaults\n"
    assert (tmp_path / "build" / "found").exists()
    assert set_up("-Dcolor=red") == ""


def test_unknown_package_group_is_refused(root):
    done = run(root, "install-packages", "nonsense")
    assert done.returncode == 64
    assert "nonsense" in done.stderr
