"""A folder of tests in parts that run concurrently: `--part K/N` is every Nth test from the Kth on.

A conftest.py of such a folder contains `from parts import *`, with tests/ in sys.path.
"""

__all__ = ["pytest_addoption", "pytest_collection_modifyitems"]


def pytest_addoption(parser):
    parser.addoption("--part", default="0/1", help="K/N: every Nth test from the Kth on, from 0")


def pytest_collection_modifyitems(config, items):
    part, parts = map(int, config.getoption("--part").split("/"))
    items[:] = items[part::parts]
