"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import alignbook
import pytest

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(alignbook.__path__, "alignbook.")
    if module.name != "alignbook.__main__"
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, monkeypatch):
    monkeypatch.chdir(alignbook.ROOT)
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    modules = map(importlib.import_module, MODULES)
    assert sum(bool(test.examples) for m in modules for test in finder.find(m)) >= 15
