"""Records calls of a library's operators, in processes that others start.

This module is read from its file where Opwright is not installed, so it imports nothing of it. A call is stored as
plain values and bytes: `decode` in `stored_calls` gives them back. What a call cannot be stored for is counted.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import IO, Any, Final, TypeAlias

#: PyTorch has no types here, and values are those of any call.
_Torch: TypeAlias = Any
_Value: TypeAlias = Any
_Function: TypeAlias = Any

#: The first line of a file with calls.
HEADER: Final = b"opwright calls 1\n"
#: The variable of the environment that names the file with what to record.
VARIABLE: Final = "OPWRIGHT_RECORDED_CALLS"
#: How many calls of an operator are kept, how many of them with tensors of the same sizes and dtypes, and how many
#: bytes one call, those that are alike, and all calls may have.
MOST_CALLS: Final = 100
MOST_ALIKE: Final = 10
MOST_BYTES: Final = 4 << 20
MOST_BYTES_IN_ALL: Final = 128 << 20
#: Which part of the bytes that are left one operator may have, and of these one call: large calls leave room for small
#: ones, and for operators that are called later.
_OPERATOR_SHARE: Final = 8
_CALL_SHARE: Final = 4
#: The key that each call passes between Autograd and the kernel of a device. An operator may have its own kernel there.
ON_THE_WAY: Final = "BackendSelect"
#: Ends the file of a module that is no Python.
_LIBRARY_SUFFIXES: Final = (".so", ".dylib", ".pyd")


class NotStored(Exception):
    """A value that cannot be stored. The text says what it is."""


class StoredCall:
    """The values of one call, as what `torch.load` reads without running code."""

    def __init__(self, torch: _Torch) -> None:
        self._torch = torch
        self._storages: dict[int, list[Any]] = {}
        self._tensors: dict[int, int] = {}
        self._kept: list[Any] = []
        self._bytes = 0
        #: What the call looks like: types, sizes and dtypes, without the values of tensors.
        self.signature: list[str] = []

    def encoded(self, arguments: Sequence[_Value], keywords: Mapping[str, _Value]) -> dict[str, Any]:
        """The arguments of a call. Raises NotStored."""
        given = [self._encode(value, 0) for value in arguments]
        named = {str(name): self._encode(value, 0) for name, value in keywords.items()}
        # Storages are copied once the extents of all tensors in them are known.
        storages = [self._copied(first, last, tensor) for first, last, tensor in self._storages.values()]
        return {"arguments": given, "keywords": named, "storages": storages}

    def _encode(self, value: _Value, depth: int) -> list[Any]:
        torch = self._torch
        if depth > 9:
            raise NotStored("a deep list")
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        is_plain = value is None or isinstance(value, (bool, str)) or type(value) in (int, float)
        if is_plain or isinstance(value, complex):
            self.signature.append(repr(value))
            return ["plain", value] if is_plain else ["complex", value.real, value.imag]
        if isinstance(value, (list, tuple)):
            self.signature.append(f"{len(value)} of")
            kind = "tuple" if isinstance(value, tuple) else "list"
            return [kind, [self._encode(part, depth + 1) for part in value]]
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            self.signature.append(f"{len(value)} by")
            return ["dict", {key: self._encode(part, depth + 1) for key, part in value.items()}]
        for kind in ("dtype", "layout", "memory_format"):
            if isinstance(value, getattr(torch, kind)):
                self.signature.append(str(value))
                return ["torch", kind, str(value).removeprefix("torch.")]
        if isinstance(value, torch.device):
            self.signature.append(str(value))
            return ["device", str(value)]
        if isinstance(value, torch.Generator):
            self.signature.append("generator")
            return ["generator", str(value.device)]
        raise NotStored(f"a value of the type {type(value).__name__}")

    def _tensor(self, tensor: _Value) -> list[Any]:
        torch = self._torch
        if id(tensor) in self._tensors:
            self.signature.append(f"same as {self._tensors[id(tensor)]}")
            return ["again", self._tensors[id(tensor)]]
        what = type(tensor).__name__
        if "Fake" in what or "Functional" in what or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            raise NotStored("a tensor of a trace or a transformation")
        self._tensors[id(tensor)] = len(self._tensors)
        # A tensor may go before the call is stored, and another one have its place in memory.
        self._kept.append(tensor)
        dtype = str(tensor.dtype).removeprefix("torch.")
        if tensor.is_nested or tensor.is_quantized or tensor.layout is not torch.strided:
            raise NotStored(f"a {'nested' if tensor.is_nested else dtype if tensor.is_quantized else 'sparse'} tensor")
        sizes, strides = [int(size) for size in tensor.shape], [int(stride) for stride in tensor.stride()]
        device = str(tensor.device)
        flags = [bool(tensor.requires_grad), bool(tensor.is_conj()), bool(tensor.is_neg())]
        self.signature.append(f"{dtype}{sizes}{strides}{device}{flags[1:]}")
        if device.startswith("meta"):
            return ["tensor", -1, 0, dtype, sizes, strides, device, flags]
        storage = tensor.untyped_storage()
        width = tensor.element_size()
        reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) if tensor.numel() else -1
        first = int(tensor.storage_offset()) * width
        last = first + (reach + 1) * width
        # Elements of all widths begin at a multiple of 16.
        begin = first - first % 16
        key = int(storage._cdata)
        extent = self._storages.setdefault(key, [begin, last, tensor])
        extent[0], extent[1] = min(extent[0], begin), max(extent[1], last)
        return ["tensor", list(self._storages).index(key), first, dtype, sizes, strides, device, flags]

    def _copied(self, first: int, last: int, tensor: _Value) -> list[Any]:
        """The first byte of a part of a storage, and the bytes of the part."""
        torch = self._torch
        self._bytes += last - first
        if self._bytes > MOST_BYTES:
            raise NotStored(f"tensors with more than {MOST_BYTES:,} bytes")
        with torch.no_grad():
            whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
            whole.set_(tensor.untyped_storage(), first, (last - first,), (1,))
            return [first, whole.clone().cpu()]


class KeptCalls:
    """How many calls are kept, and what they leave to others."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._alike: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._bytes_alike: Counter[str] = Counter()

    def refusal(self, operator: str, alike: str = "", size: int = 0) -> str:
        """Why a call is not kept; empty if it is. What is not known yet of it refuses nothing."""
        left = MOST_BYTES_IN_ALL - self._bytes.total()
        if self._calls[operator] >= MOST_CALLS:
            return f"more than {MOST_CALLS} calls"
        if self._alike[alike] >= MOST_ALIKE:
            return f"more than {MOST_ALIKE} calls with the same sizes"
        if self._alike[alike] and self._bytes_alike[alike] + size > MOST_BYTES:
            return f"more than {MOST_BYTES:,} bytes with the same sizes"
        share = (left // _OPERATOR_SHARE - self._bytes[operator]) // _CALL_SHARE if self._calls[operator] else left
        return f"more than a share of {MOST_BYTES_IN_ALL:,} bytes" if size > share else ""

    def keep(self, operator: str, alike: str, size: int) -> None:
        """Count a call."""
        self._calls[operator] += 1
        self._alike[alike] += 1
        self._bytes[operator] += size
        self._bytes_alike[alike] += size


class CallFile:
    """A file to which calls are appended; each is whole once it is written, whatever ends the process."""

    def __init__(self, torch: _Torch, path: str) -> None:
        self._torch = torch
        self._path = path
        self._stream: IO[bytes] | None = None
        self._process = 0
        self._lock = threading.RLock()
        self._kept = KeptCalls()
        self._refused: Counter[tuple[str, str]] = Counter()

    def add(self, operator: str, arguments: Sequence[_Value], keywords: Mapping[str, _Value]) -> None:
        """Append a call, or count it if it cannot be stored, or if enough are kept that are alike.

        The modes of a test do not see what this calls, as one that prints each tensor would take minutes for a copy.
        """
        with self._lock, self._torch._C._DisableTorchDispatch(), self._torch._C.DisableTorchFunction():
            try:
                self._add(operator, arguments, keywords)
            except NotStored as reason:
                self._refused[operator, str(reason)] += 1
            except Exception as error:
                self._refused[operator, f"{type(error).__name__}: {error}"] += 1

    def _add(self, operator: str, arguments: Sequence[_Value], keywords: Mapping[str, _Value]) -> None:
        self._refuse(operator)
        call = StoredCall(self._torch)
        encoded = call.encoded(arguments, keywords)
        alike = hashlib.sha256("|".join([operator, *call.signature]).encode()).hexdigest()[:16]
        self._refuse(operator, alike)
        data = io.BytesIO()
        self._torch.save(encoded, data)
        body = data.getvalue()
        self._refuse(operator, alike, len(body))
        self._kept.keep(operator, alike, len(body))
        self._write({"operator": operator, "alike": alike, "bytes": len(body)}, body)

    def _refuse(self, operator: str, alike: str = "", size: int = 0) -> None:
        if reason := self._kept.refusal(operator, alike, size):
            raise NotStored(reason)

    def _write(self, head: Mapping[str, object], body: bytes = b"") -> None:
        if self._process != os.getpid():
            # A copy of the process has a file of its own.
            self._process = os.getpid()
            self._stream = open(f"{self._path}.{self._process}", "ab")  # noqa: SIM115
        assert self._stream is not None
        self._stream.write(json.dumps(head).encode() + b"\n" + body)
        self._stream.flush()

    def close(self) -> None:
        """Append how many calls were not stored, and why."""
        with self._lock:
            for (operator, reason), count in self._refused.items():
                self._write({"operator": operator, "not_stored": reason, "count": count, "bytes": 0})
            self._refused.clear()


class Recorder:
    """Records the calls that Python makes of operators, and those that reach the dispatcher otherwise.

    Of the latter it sees those of operators that it knows by their names, with whether it may pass calls on, without a
    mode of PyTorch: with one active, `torch.compile` compiles nothing, and all operators of PyTorch take longer.
    """

    def __init__(self, torch: _Torch, file: CallFile, operators: Mapping[str, bool]) -> None:
        self._torch = torch
        self._file = file
        self._passed = [name for name, is_passed in operators.items() if is_passed]
        self._namespaces = frozenset([name.partition("::")[0] for name in operators])
        self._libraries: list[Any] = []
        self._local = threading.local()

    def start(self) -> None:
        """Record from now on."""
        operators = import_module("torch._ops")
        for kind in (operators.OpOverloadPacket, operators.OpOverload):
            kind.__call__ = self._recording(kind.__call__)
        library = import_module("torch.library").Library
        self._libraries = [library(namespace, "IMPL") for namespace in sorted(self._namespaces)]
        for own in self._libraries:
            for name in self._passed:
                if name.startswith(f"{own.ns}::"):
                    own.impl(name.partition("::")[2], self._on_the_way(name), ON_THE_WAY, with_keyset=True)
        atexit.register(self._file.close)

    def _on_the_way(self, name: str) -> Callable[..., Any]:
        """A kernel that records a call, and goes on to the kernel of the device."""
        namespace, _, rest = name.partition("::")
        operation, _, overload = rest.partition(".")
        below = self._torch._C._dispatch_keyset_full_after(getattr(self._torch._C.DispatchKey, ON_THE_WAY))

        def recorded(keys: Any, *given: _Value, **named: _Value) -> object:  # noqa: ANN401
            function = getattr(getattr(getattr(self._torch.ops, namespace), operation), overload or "default")
            with self._recorded(f"{namespace}::{operation}", lambda: name, given, named):
                return function.redispatch(keys & below, *given, **named)

        return recorded

    def _is_outside(self) -> bool:
        return not getattr(self._local, "depth", 0)

    @contextlib.contextmanager
    def _recorded(
        self, name: str, whole_name: Callable[[], str], given: Sequence[_Value], named: Mapping[str, _Value]
    ) -> Iterator[None]:
        """A call of an operator, which is recorded unless a caller has recorded the same call."""
        if not hasattr(self._local, "calls"):
            self._local.calls = []
        calls: list[str] = self._local.calls
        if self._is_outside() and name not in calls:
            with self._inside():
                self._file.add(whole_name(), given, named)
        calls.append(name)
        try:
            yield
        finally:
            calls.pop()

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """What PyTorch calls while a call is stored, or by itself for the same call, is no call of a test."""
        self._local.depth = getattr(self._local, "depth", 0) + 1
        try:
            yield
        finally:
            self._local.depth -= 1

    def _recording(self, call: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self

        def recorded(self: _Function, /, *given: _Value, **named: _Value) -> object:
            name = self._qualified_op_name if hasattr(self, "_qualified_op_name") else self._schema.name
            if name.partition("::")[0] not in recorder._namespaces:
                return call(self, *given, **named)
            with recorder._recorded(name, lambda: operator_name(recorder._torch, self, given, named), given, named):
                return call(self, *given, **named)

        return recorded

    def wrap(self, module: _Function, name: str) -> None:
        """Record the calls of the functions of a module that is no Python, such as one of pybind11, by this name."""
        for path, owner, function in [*functions_in(module)] if is_extension(module) else ():
            with contextlib.suppress(AttributeError, TypeError):
                setattr(owner, path.rpartition(".")[2], self._of_module(f"{name}.{path}", function))

    def _of_module(self, name: str, function: _Function) -> Callable[..., Any]:
        def recorded(*given: _Value, **named: _Value) -> object:
            if self._is_outside():
                with self._inside():
                    self._file.add(name, given, named)
            return function(*given, **named)

        recorded.__name__ = name.rpartition(".")[2]
        recorded.__doc__ = getattr(function, "__doc__", None)
        return recorded


def module_name(name: str) -> str:
    """The name by which a process imports a module, which may be named by the path of its file or folder.

    >>> module_name("ported/acme"), module_name("ops.py"), module_name("acme._C"), module_name("acme/_C.abi3.so")
    ('acme', 'ops', 'acme._C', '_C')
    """
    file = os.path.basename(name)
    return file.partition(".")[0] if file.endswith(_LIBRARY_SUFFIXES) else file.removesuffix(".py")


def is_extension(module: object) -> bool:
    """Whether a module is no Python."""
    return str(getattr(module, "__file__", None) or "").endswith(_LIBRARY_SUFFIXES)


def functions_in(module: Any, inside: str = "") -> Iterator[tuple[str, Any, _Function]]:  # noqa: ANN401
    """The functions of a module and of those that it makes: the name, such as `sub.f`, the owner, and the function."""
    for name, value in sorted(vars(module).items()):
        if isinstance(value, ModuleType):
            if value.__name__ == f"{module.__name__}.{name}":
                yield from functions_in(value, f"{inside}{name}.")
        elif callable(value) and not name.startswith("__") and not isinstance(value, type):
            yield f"{inside}{name}", module, value


def operator_name(torch: _Torch, function: _Function, given: Sequence[_Value], named: Mapping[str, _Value]) -> str:
    """The name of an operator with the overload that a call means, or of a function with its module."""
    if hasattr(function, "_overloadname"):
        return f"{function._schema.name}{_overload(function)}"
    if not hasattr(function, "_qualified_op_name"):
        return f"{function.__module__}.{function.__name__}"
    name: str = function._qualified_op_name
    overloads = function.overloads()
    overload = overloads[0]
    if len(overloads) > 1:
        try:
            overload = torch._C._jit_resolve_packet(name, *given, **named)
        except Exception:
            overload = ""
    return name if overload in ("", "default") else f"{name}.{overload}"


def _overload(function: _Function) -> str:
    name = function._overloadname
    return "" if name in ("", "default") else f".{name}"


class _AfterImports:
    """Starts the recorder when PyTorch is imported, and wraps modules, named by their paths too, when these are."""

    def __init__(self, path: str, operators: Mapping[str, bool], modules: Sequence[str]) -> None:
        self._path = path
        self._operators = operators
        self._waiting = {"torch", *modules}
        self._files = {os.path.realpath(name): module_name(name) for name in modules if os.sep in name}
        self._recorder: Recorder | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ANN401
        """The module as it is found otherwise, with what happens after its import."""
        is_waiting = name in self._waiting
        if not is_waiting and name.rpartition(".")[2] not in self._files.values():
            return None
        self._waiting.discard(name)
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                own = self._files.get(os.path.realpath(spec.origin or ""), name if is_waiting else "")
                if own:
                    spec.loader.exec_module = self._executing(spec.loader.exec_module, own)  # type: ignore[method-assign,assignment]
                return spec
        return None

    def _executing(self, execute: Callable[[Any], None], name: str) -> Callable[[Any], None]:
        def executed(module: Any) -> None:  # noqa: ANN401
            execute(module)
            self._imported(module, name)

        return executed

    def _imported(self, module: Any, name: str) -> None:  # noqa: ANN401
        if name == "torch":
            self._recorder = Recorder(module, CallFile(module, self._path), self._operators)
            self._recorder.start()
        elif self._recorder is not None:
            self._recorder.wrap(module, name)


def install() -> None:
    """Record what the file says that the environment names, in a process in which nothing is imported yet."""
    wanted = os.environ.get(VARIABLE)
    if wanted:
        with open(wanted, encoding="utf-8") as file:
            path, operators, modules = json.load(file)
        sys.meta_path.insert(0, _AfterImports(path, operators, modules))


def run_next_sitecustomize(folder: str) -> None:
    """Run the `sitecustomize` that Python would have found without the one of a folder."""
    others = [path for path in sys.path if os.path.abspath(path or ".") != os.path.abspath(folder)]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = import_module("importlib.util").module_from_spec(spec)
        spec.loader.exec_module(module)
