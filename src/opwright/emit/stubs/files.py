"""The files of a stub package for `torch.ops`: `torch-stubs`, which adds to what PyTorch says of its types.

`torch/_ops` is replaced whole, because a stub stands for its module; a module for each namespace is beside it. The
stubs that PyTorch brings itself go along: mypy would find them where they are, but pyright looks for no stub inside a
package any more once there is a stub package for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.emit.aten.units import whole_file
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, Job
from opwright.emit.stubs.namespaces import PACKAGE, namespace_path, namespace_text, namespaces
from opwright.emit.stubs.ops_module import ops_text

__all__ = ["emitters", "own_stub_emitters", "project_emitter"]

#: Tells type checkers to look in PyTorch itself for every module that is not here.
_PARTIAL: Final = "partial\n"


def _whole(name: str, path: str, text: str) -> AnyEmitter:
    """A file whose text does not depend on operators."""
    return whole_file(
        path, name=name, family="stubs", template=None, folder="stubs", file_slots=lambda job: {"text": text}
    )


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the package."""
    return [
        _whole("py_typed_marker", "torch-stubs/py.typed", _PARTIAL),
        _whole("package_stub", f"torch-stubs/{PACKAGE}/__init__.pyi", ""),
        whole_file(
            "torch-stubs/_ops.pyi", name="ops_stub", family="stubs", template=None, folder="stubs", file_slots=ops_text
        ),
        Emitter(
            name="namespace_stubs",
            family="stubs",
            template=None,
            folder="stubs",
            units=namespaces,
            fragment=namespace_text,
            layout=FilePerUnit(namespace_path),
        ),
    ]


def own_stub_emitters(stubs: Mapping[str, str]) -> list[AnyEmitter]:
    """The emitters of the stubs that PyTorch brings: text by path, such as `torch/_C/__init__.pyi`."""
    return [
        _whole("pytorch_stubs", f"torch-stubs/{path.removeprefix('torch/')}", text)
        for path, text in stubs.items()
        if path != "torch/_ops.pyi"
    ]


#: What pip needs to know of the package. Stubs have no code, so that any builder does.
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


def project_emitter(name: str, version: str) -> AnyEmitter:
    """The emitter of a `pyproject.toml` beside the package, with the release's version."""
    return _whole("project_file", "pyproject.toml", _PROJECT.format(name=name, version=version))
