"""Files of `torch-stubs`, a stub package that adds the types of `torch.ops` to PyTorch's own.

`torch/_ops` is replaced whole, because a stub stands for its module; a module for each namespace is beside it. The
stubs that PyTorch brings itself go along: mypy would find them where they are, but pyright looks for no stub inside a
package any more once there is a stub package for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, OneFile, Slots
from opwright.libraries.stubs.namespaces import PACKAGE, namespace_path, namespace_text, namespaces

#: Makes type checkers look in PyTorch itself for modules that are not in the package.
_PARTIAL: Final = "partial\n"


_FAMILY: Final = "stubs"

#: The lines of a namespace that begin the class of an operator.
_OPERATOR_LINE: Final = r"class (?P<operator>\w+)\(_Operator\)"


def _whole_file(name: str, path: str, file_slots: Callable[[Job], Slots]) -> AnyEmitter:
    return Emitter(
        name=name, family=_FAMILY, template=None, folder=_FAMILY, layout=OneFile(path), file_slots=file_slots
    )


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
    """Project of the package, with the version of the release."""
    return {"text": _PROJECT.format(name=job.options.stub_project, version=job.rules.version)}


def _own_stub(stub: tuple[str, str], context: FragmentContext) -> Slots:
    """Text of one of PyTorch's stubs."""
    return {"text": stub[1]}


def _own_stubs(job: Job) -> Sequence[tuple[str, str]]:
    """Path and text of PyTorch's stubs, except the one that the package replaces."""
    return [stub for stub in job.own_stubs.items() if stub[0] != "torch/_ops.pyi"]


def _own_stub_path(stub: tuple[str, str]) -> str:
    return f"torch-stubs/{stub[0].removeprefix('torch/')}"


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the package, and of the project that installs it."""
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


_MODULE: Final = '''\
# Stubs of torch._ops. Made by Opwright, so that {places} are known to type checkers.
# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false, reportMissingModuleSource=false
# pyright: reportMissingSuperCall=false
# mypy: disable-error-code="override, no-untyped-def"
# ruff: noqa
"""Operators and their overloads, as Python calls them."""

import abc
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar, Concatenate, Generic

import torch
{imports}
from torch._C import DispatchKey as DispatchKey
from typing_extensions import ParamSpec, TypeVar

_T = TypeVar("_T", default=Any)
_P = ParamSpec("_P", default=...)
_F = TypeVar("_F", bound=Callable[..., Any])

class OperatorBase:
    functorch_table: dict[Any, Callable[..., Any]]
    py_kernels: dict[DispatchKey, Callable[..., Any]]
    python_key_table: dict[type, Callable[..., Any]]
    def __init__(self) -> None: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def has_kernel_for_any_dispatch_key(self, ks: torch._C.DispatchKeySet) -> bool: ...
    def has_kernel_for_dispatch_key(self, k: DispatchKey) -> bool: ...
    def name(self) -> str: ...
    def py_functionalize_impl(self, fn: _F) -> _F: ...
    def py_impl(self, k: Any) -> Callable[[_F], _F]: ...

class HigherOrderOperator(OperatorBase, abc.ABC):
    def __init__(
        self, name: str, *, cacheable: bool = False, supports_training_input_mutation: bool = False
    ) -> None: ...
    def cacheable(self) -> bool: ...
    def dispatch(self, /, dispatch_key: DispatchKey, *args: Any, **kwargs: Any) -> Any: ...
    def fallthrough(self, dispatch_key: DispatchKey) -> None: ...
    def gen_schema(self, *args: Any, **kwargs: Any) -> torch._C.FunctionSchema: ...
    @property
    def namespace(self) -> str: ...
    def py_autograd_impl(self, fn: _F) -> _F: ...

class OpOverload(OperatorBase, Generic[_P, _T]):
    __name__: str
    __qualname__: str
    is_view: bool
    _name: str
    _op: Callable[_P, _T]
    _op_dk: Callable[Concatenate[DispatchKey, _P], _T]
    _overloadname: str
    _overloadpacket: OpOverloadPacket
    _schema: torch._C.FunctionSchema
    _tags: Sequence[torch.Tag]
    def __init__(
        self,
        overloadpacket: OpOverloadPacket,
        op: Callable[_P, _T],
        op_dk: Callable[Concatenate[DispatchKey, _P], _T],
        schema: torch._C.FunctionSchema,
        tags: list[Any],
    ) -> None: ...
    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _T: ...
    def _can_decompose(self) -> bool: ...
    @property
    def _handle(self) -> torch._C._DispatchOperatorHandle: ...
    @property
    def _namespace(self) -> str: ...
    @property
    def _opname(self) -> str: ...
    def decompose(self, *args: _P.args, **kwargs: _P.kwargs) -> _T: ...
    @property
    def namespace(self) -> str: ...
    @property
    def op(self) -> Callable[_P, _T]: ...
    @property
    def overloadpacket(self) -> OpOverloadPacket: ...
    def redispatch(self, /, keyset: torch._C.DispatchKeySet, *args: _P.args, **kwargs: _P.kwargs) -> _T: ...
    @property
    def tags(self) -> Sequence[torch.Tag]: ...

class TorchBindOpOverload(OpOverload[_P, _T]): ...

class OpOverloadPacket(Generic[_P, _T]):
    __file__: ClassVar[str]
    __name__: str
    _op: Callable[_P, _T]
    _overload_names: list[str]
    _qualified_op_name: str
    def __init__(
        self, qualified_op_name: str, op_name: str, op: Callable[_P, _T], overload_names: list[str]
    ) -> None: ...
    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _T: ...
    def __getattr__(self, key: str) -> OpOverload[_P, _T]: ...
    def __iter__(self) -> Iterator[str]: ...
    @property
    def _schemas(self) -> dict[str, torch._C.FunctionSchema]: ...
    @property
    def op(self) -> Callable[_P, _T]: ...
    def op_overloads(self) -> list[OpOverload[_P, _T]]: ...
    def overloads(self) -> list[str]: ...

class _OpNamespace(ModuleType):
    name: str
    def __init__(self, name: str) -> None: ...
    def __getattr__(self, op_name: str) -> OpOverloadPacket: ...
    def __iter__(self) -> Iterator[str]: ...

class _HigherOrderNamespace(ModuleType):
    def __init__(self) -> None: ...
    def __getattr__(self, name: str) -> HigherOrderOperator: ...
    def __iter__(self) -> Iterator[str]: ...

class _Ops(ModuleType):
    higher_order: _HigherOrderNamespace
    loaded_libraries: set[str]
{attributes}
    def __init__(self) -> None: ...
    def __getattr__(self, name: str) -> _OpNamespace: ...
    def __iter__(self) -> Iterator[str]: ...
    def import_module(self, module: str) -> None: ...
    def load_library(self, path: str) -> None: ...

ops: _Ops

# What is not for users stays without a type.
def __getattr__(name: str) -> Any: ...
'''


def ops_text(job: Job) -> Slots:
    """Module, with an attribute of `torch.ops` for each namespace of the job."""
    names = [namespace.name for namespace in namespaces(job)]
    imports = [f"from torch.{PACKAGE} import {name} as _operators_{name}" for name in names]
    attributes = [f"    {name}: _operators_{name}.Namespace" for name in names]
    text = _MODULE.format(
        places=", ".join(f"torch.ops.{name}" for name in names),
        imports="\n".join(imports),
        attributes="\n".join(attributes),
    )
    return {"text": text}
