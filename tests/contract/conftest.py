"""Contracts that need containers use those of tests/lab."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab.fixtures import *  # noqa: E402, F403
