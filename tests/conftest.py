"""What all tests share: the reference's inputs."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from subprocess import CalledProcessError

import pytest
from _pytest.fixtures import reorder_items
from hypothesis import settings

from tests.alone import can_copy, run_alone
from tests.torch_process import torch_process

__all__ = ["torch_process"]

# What pytest makes of the assertions of all tests takes a worker eight seconds, so the next run reads it, also where
# Python is told to keep no compiled modules.
sys.dont_write_bytecode = False

# A busy machine makes single examples slow; what is slow for good shows in the benchmarks.
settings.register_profile("opwright", deadline=None)
settings.load_profile("opwright")

# Its tests stand in a module without the name of one, because several test modules share them.
pytest.register_assert_rewrite("tests.backend.case_tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--part 2/3` runs the second of three parts of the chosen tests, by modules."""
    parser.addoption("--part", metavar="I/N", default="1/1", help="run one of so many parts of the test modules")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples only in files that have some: to look, pytest imports a module and walks through it."""
    collectors = yield
    return [each for each in collectors if type(each) is pytest.Module or ">>> " in each.path.read_text("utf-8")]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let every second process import the test modules from the last one on.

    What pytest makes of a module's assertions is kept beside it, and two processes that import modules in one order
    make all of them twice.
    """
    arguments = [Path(name).name for name in session.config.args]
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579" and arguments == session.config.getini("testpaths"):
        for path in sorted(_ROOT.glob("tests/**/test_*.py"), reverse=True):
            # What fails here fails again where pytest tells of it.
            with suppress(Exception, pytest.skip.Exception):
                import_module(".".join(path.relative_to(_ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lives to the end: the tests and the modules that they import."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Prepare tests, and leave out those of other parts, after those of other marks."""
    _mark_tests(items)
    yield
    # Random order comes after pytest's own, which lets tests with one value of a shared fixture follow each other: a
    # library can be loaded once in a process, and takes long to build.
    items[:] = reorder_items(items)
    items.sort(key=lambda item: next(row for row, name in enumerate(_LONG) if _group(item).startswith(name)))
    part, parts = map(int, config.getoption("part").split("/"))
    if parts > 1:
        modules = set(sorted({item.path for item in items})[part - 1 :: parts])
        config.hook.pytest_deselected(items=[item for item in items if item.path not in modules])
        items[:] = [item for item in items if item.path in modules]


def _mark_tests(items: list[pytest.Item]) -> None:
    """Prepare tests that copy their process, and let tests of a folder run in one process."""
    for item in items:
        if item.get_closest_marker("forks") is not None:
            item.add_marker(pytest.mark.skipif(not can_copy(), reason="processes cannot be copied here"))
        if any(item.get_closest_marker(name) for name in ("alone", "forks")):
            # The threads of pytest-xdist wait for messages and hold no lock that a copy of the process would need.
            item.add_marker(pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"))
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(_sharing_folder(item.path)))


_ROOT = Path(__file__).parents[1]

#: Groups that take longest: they start first, so that no process is left with one of them in the end.
_LONG = ("tests/library", "tests/engine", "tests/backend", "tests/stubs", "tests/tools/lsp", "tests/torchgen", "")


@cache
def _sharing_folder(path: Path) -> str:
    """The folder whose tests share fixtures and what their modules cache: each process that runs some makes these."""
    below = [folder for folder in path.parents if folder.parent.is_relative_to(_ROOT / "tests")]
    shared = [folder for folder in below if (folder / "conftest.py").exists()]
    return [path.parent, *shared][-1].relative_to(_ROOT).as_posix()


def _group(item: pytest.Item) -> str:
    """What runs in one process: the tests of such a folder, or those that name their group."""
    return str(next(item.iter_markers("xdist_group")).args[0])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Give a test that measures its process one of its own, with the fixtures that it has got."""
    if pyfuncitem.get_closest_marker("alone") is None or not can_copy():
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    run_alone(partial(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Free what the modules of a group have cached, whole catalogs of PyTorch, after the last of its tests."""
    if nextitem is not None and _group(item) != _group(nextitem):
        helpers = [vars(module).values() for name, module in sys.modules.items() if name.startswith("tests.")]
        for value in chain.from_iterable(helpers):
            if isinstance(value, type(_sharing_folder)) and value.__module__.startswith("tests."):
                value.cache_clear()
        gc.collect()
        # What is left lives to the end, as PyTorch does: to look through it again takes a second each time.
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests, and the programs that they start, leave the user's cache alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        # What PyTorch compiles for `load`, with locks that wait for ever if the process that made one was killed.
        patch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path_factory.mktemp("extensions")))
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


@pytest.fixture(scope="session")
def pytorch_tree() -> Path:
    """A source tree of PyTorch: the one that `OPWRIGHT_PYTORCH_TREE` names, or Debian's, for tests of the network."""
    from tests.upstream.sources import source_tree
    from tests.upstream.torchgen import PYTORCH

    given = os.environ.get("OPWRIGHT_PYTORCH_TREE")
    try:
        return source_tree(PYTORCH, Path(__file__).parents[1] / ".cache" / "upstream", Path(given) if given else None)
    except (SystemExit, CalledProcessError) as error:
        pytest.skip(f"Debian's sources are not there: {error}")
