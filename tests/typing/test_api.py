"""Users of the library are checked in full: type checkers know every public name, and no other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import opwright
from tests.stubs.installed import Site, expected_lines, mypy_errors, pyright_errors, site

HERE = Path(__file__).resolve().parent
SOURCE = Path(opwright.__file__).parents[1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """An environment in which Opwright is installed."""
    return site(tmp_path_factory.mktemp("api"), SOURCE)._replace(kind="api")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The user's program, out of the project's settings."""
    return Path(shutil.copy(HERE / "calls_api.py", tmp_path))


@pytest.fixture
def names(tmp_path: Path) -> Path:
    """A program that uses every public name."""
    file = tmp_path / "names.py"
    public = vars(opwright)["__all__"]
    lines = "".join(f"print(opwright.{name})\n" for name in public)
    file.write_text(f"import opwright\n{lines}from opwright import {', '.join(public)}\n")
    return file


@pytest.mark.thorough
def test_mypy_checks_users_in_full(environment: Site, program: Path, names: Path) -> None:
    """With `mypy --strict`, every public name is known, and exactly the lines that are wrong have errors."""
    errors = mypy_errors(environment, program, names)
    assert errors[names.name] == {}
    assert errors[program.name].keys() == expected_lines(program)


@pytest.mark.thorough
def test_pyright_checks_users_in_full(environment: Site, program: Path, names: Path) -> None:
    """With pyright, every public name is known, and exactly the lines that are wrong have errors."""
    errors = pyright_errors(environment, program, names, mode="standard")
    assert errors[names.name] == {}
    assert errors[program.name].keys() == expected_lines(program)


def test_public_names_are_there() -> None:
    """Every public name can be asked for, is listed, and tells what it is; another name is not."""
    for name in vars(opwright)["__all__"]:
        assert getattr(opwright, name).__doc__ or name == "DefaultValue", name
    assert set(vars(opwright)["__all__"]) <= set(dir(opwright))
    for module in (opwright, opwright.convention, opwright.cpp):
        assert not hasattr(module, "nope")
