"""A few thousand random templates, the same ones in every run, rendered like Jinja2 does."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_random_templates_render_like_jinja2(eden_path):
    run = subprocess.run(
        [sys.executable, "-B", ROOT / "tests" / "differential" / "run.py", "--eden", eden_path,
         "--count", "3000", "--seed", "1", "--show", "5"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500, check=False,
    )
    assert run.returncode == 0, run.stdout[-8000:]
