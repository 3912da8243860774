"""The files of `torch-stubs`, a stub package that adds the types of `torch.ops` to PyTorch's own.

`torch/_ops` is replaced whole, because a stub stands for its module; a module for each namespace is beside it. The
stubs that PyTorch brings itself go along: mypy would find them where they are, but pyright looks for no stub inside a
package any more once there is a stub package for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from opwright.emit.aten.units import whole_file
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.emit.stubs.namespaces import PACKAGE, namespace_path, namespace_text, namespaces
from opwright.emit.stubs.ops_module import ops_text

__all__ = ["emitters"]

#: Makes type checkers look in PyTorch itself for modules that are not in the package.
_PARTIAL: Final = "partial\n"


_FAMILY: Final = "stubs"

#: The lines of a namespace that begin the class of an operator.
_OPERATOR_LINE: Final = r"class (?P<operator>\w+)\(_Operator\)"


def _whole_file(name: str, path: str, file_slots: Callable[[Job], Slots]) -> AnyEmitter:
    return whole_file(path, name=name, family=_FAMILY, template=None, folder=_FAMILY, file_slots=file_slots)


#: The project file that pip reads. Stubs have no code, so any build backend works.
_PROJECT: Final = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "{version}"
description = "Type stubs of torch.ops"

[tool.hatch.build.targets.wheel]
packages = ["torch-stubs"]
"""


def _project_text(job: Job) -> Slots:
    """The project of the package, with the version of the release."""
    return {"text": _PROJECT.format(name=job.options.stub_project, version=job.rules.version)}


def _own_stub(stub: tuple[str, str], context: FragmentContext) -> Slots:
    """The text of one of PyTorch's own stubs."""
    return {"text": stub[1]}


def _own_stubs(job: Job) -> Sequence[tuple[str, str]]:
    """Path and text of PyTorch's own stubs, except the one that the package replaces."""
    return [stub for stub in job.own_stubs.items() if stub[0] != "torch/_ops.pyi"]


def _own_stub_path(stub: tuple[str, str]) -> str:
    return f"torch-stubs/{stub[0].removeprefix('torch/')}"


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the package, and of the project that installs it."""
    package: list[AnyEmitter] = [
        _whole_file("py_typed_marker", "torch-stubs/py.typed", lambda job: {"text": _PARTIAL}),
        _whole_file("package_stub", f"torch-stubs/{PACKAGE}/__init__.pyi", lambda job: {"text": ""}),
        _whole_file("ops_stub", "torch-stubs/_ops.pyi", ops_text),
        Emitter(
            name="namespace_stubs",
            family=_FAMILY,
            template=None,
            folder=_FAMILY,
            units=namespaces,
            fragment=namespace_text,
            line_names=_OPERATOR_LINE,
            layout=FilePerUnit(namespace_path),
        ),
        Emitter(
            name="pytorch_stubs",
            family=_FAMILY,
            template=None,
            folder=_FAMILY,
            units=_own_stubs,
            fragment=_own_stub,
            layout=FilePerUnit(_own_stub_path),
        ),
    ]
    project = [_whole_file("stub_project_file", "pyproject.toml", _project_text)]
    return package if job.options.stub_project is None else package + project
