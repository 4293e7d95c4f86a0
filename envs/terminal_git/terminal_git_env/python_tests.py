"""Runs a task's ``test_*.py``, with what Python brings alone: a copy stands beside the tests, inside the sandbox."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import unittest
from pathlib import Path
from types import ModuleType


def module_of(path: Path) -> ModuleType:
    """A test's module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def suite_of(module: ModuleType) -> unittest.TestSuite:
    """A module's test cases and its plain functions that are named test_*."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    for name, function in vars(module).items():
        if name.startswith("test_") and inspect.isfunction(function):
            suite.addTest(unittest.FunctionTestCase(function, description=f"{module.__name__}.{name}"))
    return suite


def main() -> int:
    """Runs all; returns 0 where there were tests and all passed."""
    sys.dont_write_bytecode = True
    modules = [module_of(path) for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(map(suite_of, modules)))
    return 0 if result.wasSuccessful() and result.testsRun > len(result.skipped) else 1


if __name__ == "__main__":
    sys.exit(main())
