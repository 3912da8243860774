"""What all tests share: the reference's inputs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine makes single examples slow; what is slow for good shows in the benchmarks.
settings.register_profile("opwright", deadline=None)
settings.load_profile("opwright")

# Its tests stand in a module without the name of one, because several test modules share them.
pytest.register_assert_rewrite("tests.backend.case_tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--part 2/3` runs the second of three parts of the chosen tests, by modules."""
    parser.addoption("--part", metavar="I/N", default="1/1", help="run one of so many parts of the test modules")


#: Fixtures of these scopes are made once, and used by several tests.
_SHARED = ("module", "class", "package")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Prepare tests, and leave out those of other parts, after those of other marks."""
    _mark_tests(items)
    yield
    part, parts = map(int, config.getoption("part").split("/"))
    modules = sorted({item.path for item in items})[part - 1 :: parts]
    config.hook.pytest_deselected(items=[item for item in items if item.path not in modules])
    items[:] = [item for item in items if item.path in modules]


def _mark_tests(items: list[pytest.Item]) -> None:
    """Prepare tests that copy their process, and let tests that share a fixture run in one process.

    Where several processes run tests, the shared fixture is made only once.
    """
    for item in items:
        if item.get_closest_marker("forks") is not None:
            item.add_marker(pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here"))
            # The threads of pytest-xdist wait for messages and hold no lock that a copy of the process would need.
            item.add_marker(pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"))
        if isinstance(item, pytest.Function):
            definitions = item._fixtureinfo.name2fixturedefs.values()
            if any(definition.scope in _SHARED for row in definitions for definition in row):
                item.add_marker(pytest.mark.xdist_group(str(item.path)))


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests, and the programs that they start, leave the user's cache and configuration alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OPWRIGHT_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        # What PyTorch compiles for `load`, with locks that wait for ever if the process that made one was killed.
        patch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path_factory.mktemp("extensions")))
        patch.delenv("OPWRIGHT_ALLOW_PLUGINS", raising=False)
        yield


@pytest.fixture(autouse=True)
def _usual_recursion_limit() -> None:
    """Compilers of PyTorch raise the limit of their process, and readers of deep inputs are tested at Python's own."""
    sys.setrecursionlimit(1000)


@pytest.fixture(scope="session")
def reference_inputs() -> Path:
    """The folder of the installed reference that stands for `aten/src/ATen`."""
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "packaged" / "ATen"
