"""The lab is tested with its own fixtures."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab.fixtures import *  # noqa: E402, F403
