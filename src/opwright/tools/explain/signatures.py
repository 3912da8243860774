"""Signatures of an overload: in C++ under every calling convention that applies to it, and in Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from opwright.backends.dispatch.registrations import RegistrationKind, registrations
from opwright.backends.lazy import convention as lazy
from opwright.convention import dispatcher, native, public_api, structured, ufunc
from opwright.convention.functionalization import class_name, inverse_name, reverse_arguments
from opwright.convention.public_api import CppSignature
from opwright.convention.python.bound import MODULES, TORCH, PythonModule
from opwright.convention.python.hints import Hints, corrected
from opwright.convention.python.parameter import NoPythonType
from opwright.convention.python.signature import PythonSignature, function_signature
from opwright.convention.shared_types import NoCppType
from opwright.emit.aten.c_shim import ShimUnit, shim_units
from opwright.emit.emitter import Job, per_job
from opwright.emit.python.units import bindings
from opwright.emit.torch_stubs.hints import hints_of
from opwright.libraries import stable_convention as stable
from opwright.libraries.frameworks import view_convention
from opwright.libraries.kernels import written_kernels
from opwright.libraries.operator_library import RunLibraries
from opwright.model.native_function import Kernel, NativeFunction, NativeFunctionsGroup
from opwright.tools.explain.records import FilePlace, PythonRecord, SignatureRecord

_REVERSED: Final = "const at::Tensor& base, const Tensor& mutated_view"


def signature_records(function: NativeFunction, job: Job) -> tuple[SignatureRecord, ...]:
    """Signatures in the order from the caller to the kernel, then those of other runtimes.

    A library with the stable interface, or with kernels over borrowed tensors, has its kernels alone.
    """
    for library in job.of(RunLibraries).libraries:
        if library.library is function.library and library.is_stable:
            return tuple(_view_kernels(function) if library.takes_views else _stable_kernels(function))
    makers: tuple[Callable[[NativeFunction, Job], Iterator[SignatureRecord]], ...] = (
        _public,
        _dispatcher,
        _kernels,
        _structured,
        _functionalization,
        _unboxing,
        _c_shims,
        _stable,
        _lazy,
    )
    return tuple([record for make in makers for record in make(function, job)])


def _public(function: NativeFunction, _: Job) -> Iterator[SignatureRecord]:
    forms = ("C++", "C++ faithful", "C++ with SymInt", "C++ faithful with SymInt")
    note = "written by hand; this is the generated function" if function.manual_cpp_binding else ""
    for is_bound, signatures, what in (
        (function.function, public_api.function_signatures, "C++"),
        (function.method, public_api.method_signatures, "C++ method"),
    ):
        for form, signature in zip(forms, signatures(function), strict=True) if is_bound else ():
            if signature is not None:
                yield SignatureRecord(form.replace("C++", what), qualified_declaration(signature), note)


def _dispatcher(function: NativeFunction, _: Job) -> Iterator[SignatureRecord]:
    signature = dispatcher.signature(function)
    operator = f"{function.library.operators}::{function.name.unambiguous}"
    yield SignatureRecord("dispatcher", signature.declaration(f"{operator}::call"))
    text = signature.declaration(f"{operator}::redispatch", first="c10::DispatchKeySet dispatchKeySet")
    yield SignatureRecord("dispatcher, with keys", text)


def kernel_definition(function: NativeFunction, name: str) -> str:
    """How the author writes a kernel, by its name without namespaces; empty for a kernel that is no plain function."""
    for qualified, (kernel, _) in _by_name(function).items():
        if qualified.rpartition("::")[2] == name.rpartition("::")[2]:
            signature = native.symint_signature(function) if kernel.symint else native.signature(function)
            return signature.definition(qualified)
    return ""


def _kernels(function: NativeFunction, _: Job) -> Iterator[SignatureRecord]:
    """Kernels that are plain functions, those with the same name once."""
    for name, (kernel, keys) in _by_name(function).items():
        signature = native.symint_signature(function) if kernel.symint else native.signature(function)
        yield SignatureRecord("native", signature.declaration(name), keys)


def _by_name(function: NativeFunction) -> dict[str, tuple[Kernel, str]]:
    """Functions that the author writes as kernels, by their qualified names, each with its dispatch keys."""
    by_name: dict[str, tuple[Kernel, list[str]]] = {}
    for key, kernel in function.kernels.items():
        for written in () if kernel.structured else written_kernels(kernel):
            by_name.setdefault(f"{written.namespace}::{written.name}", (written, []))[1].append(key.name)
    return {name: (kernel, ", ".join(keys)) for name, (kernel, keys) in by_name.items()}


def _stable_kernels(function: NativeFunction) -> Iterator[SignatureRecord]:
    for name, (_, keys) in _by_name(function).items():
        text = stable.signature(function).declaration(name)
        yield SignatureRecord("stable", text, f"{keys}, {_served_releases(function)}")


def _view_kernels(function: NativeFunction) -> Iterator[SignatureRecord]:
    """Kernels that get borrowed tensors of any framework, of an operator without mistakes."""
    for name, (_, keys) in _by_name(function).items():
        yield SignatureRecord("borrowed tensors", view_convention.signature(function).declaration(name), keys)


def _structured(function: NativeFunction, _: Job) -> Iterator[SignatureRecord]:
    """Shape function, the computation of each kernel, and the loops of ufuncs."""
    group = function.group
    if group is None or not group.structured:
        return
    meta = f"at::meta::structured_{structured.meta_name(group)}::meta"
    parameters = ", ".join([binding.declaration for binding in structured.meta_arguments(group)])
    returns = "void" if group.out.precomputed is None else "meta_return_ty"
    yield SignatureRecord("structured meta", f"{returns} {meta}({parameters})")
    parameters = ", ".join([binding.declaration for binding in structured.impl_arguments(group)])
    by_name: dict[str, list[str]] = {}
    for key, kernel in group.out.kernels.items():
        if kernel.structured:
            by_name.setdefault(f"{kernel.namespace}::structured_{kernel.name}", []).append(key.name)
    for name, keys in by_name.items():
        yield SignatureRecord("structured impl", f"void {name}::impl({parameters})", ", ".join(keys))
    if group.out.ufunc:
        yield from _ufunc(group)


def _ufunc(group: NativeFunctionsGroup) -> Iterator[SignatureRecord]:
    """Stub that the kernels of a ufunc call, and its loops."""
    stub = ", ".join(["TensorIteratorBase &", *[binding.type.text for binding in ufunc.stub_arguments(group)]])
    name = f"{group.functional.schema.name.name}_stub"
    yield SignatureRecord("ufunc stub", f"void at::native::{name}({stub})")
    for key, loop in group.out.ufunc.items():
        yield SignatureRecord("ufunc loop", f"ufunc::{loop.name}", f"{key.name}: {', '.join(loop.dtypes)}")


def _functionalization(function: NativeFunction, job: Job) -> Iterator[SignatureRecord]:
    """Kernel under Functionalize, and for a view how it is replayed on its base and written back into it."""
    registration = registrations(job, function).get("Functionalize")
    if registration is not None and registration.kind is RegistrationKind.functionalization:
        text = dispatcher.signature(function).declaration(registration.kernel, first="c10::DispatchKeySet keys")
        yield SignatureRecord("functionalization", text)
    view_group = function.view_group
    if view_group is None or view_group.view is not function or view_group.composite or view_group.view_copy is None:
        return
    library = function.library.functionalization
    name = f"{library}::{class_name(function.schema)}"
    yield SignatureRecord("view, replayed", f"at::Tensor {name}::forward(const at::Tensor& base)")
    yield SignatureRecord("view, written back", f"at::Tensor {name}::reverse({_REVERSED})")
    inverse = inverse_name(function.schema)
    bindings = reverse_arguments(function.schema, function.style)
    parameters = ", ".join([binding.definition for binding in bindings])
    text = f"at::Tensor {library}::FunctionalInverses::{inverse}({parameters})"
    yield SignatureRecord("view, inverse", text, "written by hand")


def _unboxing(function: NativeFunction, _: Job) -> Iterator[SignatureRecord]:
    """Function over a stack, which builds without the dispatcher have."""
    yield SignatureRecord("unboxing", f"void {function.library.unboxing}::{function.name.unambiguous}(Stack & stack)")


def _c_shims(function: NativeFunction, job: Job) -> Iterator[SignatureRecord]:
    """The C functions that AOTInductor calls. Those of libraries are not in PyTorch's table."""
    if not function.library.in_libtorch:
        return
    units = shims_by_function(job).get(function, ())
    for unit in units:
        refusal = unit.shim.refusal
        if refusal is not None:
            note = f"{refusal.what} of type `{refusal.type}` has no form in C"
            yield SignatureRecord(f"C shim, {unit.target.name}", "", note)
        for shim_function in unit.shim.functions:
            yield SignatureRecord(f"C shim, {unit.target.name}", shim_function.head)
    if not units:
        yield SignatureRecord("C shim", "", "the operator is not in the table of operators with a shim")


def _stable(function: NativeFunction, _: Job) -> Iterator[SignatureRecord]:
    try:
        text = stable.signature(function).declaration()
    except ValueError as error:
        yield SignatureRecord("stable", "", str(error))
    else:
        yield SignatureRecord("stable", text, "" if function.library.in_libtorch else _served_releases(function))


def _served_releases(function: NativeFunction) -> str:
    """Releases that a binary with the operator can serve, and what keeps it from older ones."""
    needs = stable.needs(function)
    oldest = max([stable.FIRST_RELEASE, *[need.since for need in needs]])
    reasons = " and ".join(dict.fromkeys([need.what for need in needs if need.since == oldest]))
    return f"from PyTorch {oldest[0]}.{oldest[1]} on{f', for {reasons}' if reasons else ''}"


def _lazy(function: NativeFunction, _: Job) -> Iterator[SignatureRecord]:
    """Constructor of a node in a graph of lazy tensors."""
    try:
        taken = lazy.arguments(function.arguments, lazy.NodeConvention())
    except NoCppType as error:
        yield SignatureRecord("lazy node", "", f"no node can keep a value of type `{error}`")
        return
    parameters = ", ".join([f"const {argument.type.text}& {argument.name}" for argument in taken.all])
    yield SignatureRecord("lazy node", f"{lazy.name(function.name)}({parameters})")


#: A type in a stub under a name of its own, which the functions of the stub do not hide.
_STUB_NAME: Final = re.compile(r"\b_(size|int|float|bool|complex|dtype|device|layout|qscheme)\b")
_PLAIN_NAMES: Final = {"size": "Sequence[int]"}


#: Functions that the module `torch` does not take over (PRIVATE_OPS of torch/__init__.py).
_PRIVATE: Final = ("unique_dim",)


def python_records(function: NativeFunction, job: Job) -> tuple[PythonRecord, ...]:
    """Signatures by which Python calls an overload; deprecated ones come last."""
    hints = hints_of(job)
    if not function.library.in_libtorch:
        name = f"torch.ops.{function.namespace}.{function.name.name}"
        call = call_text(function_signature(function, method=False), hints)
        if function.arguments.all and function.arguments.all[0].name == "self":
            # Functions of `torch` call it `input`; `torch.ops` has the names of the schema.
            call = call.replace("(input: ", "(self: ", 1)
        return (PythonRecord(name, name + call, False, None),)
    records = []
    for name, signature in python_signatures(function, job):
        span = signature.span
        place = None if span is None else FilePlace(span.file.path, span.line)
        records.append(PythonRecord(name, name + call_text(signature, hints), signature.deprecated, place))
    return tuple(records)


def python_signatures(function: NativeFunction, job: Job) -> list[tuple[str, PythonSignature]]:
    """Signatures by which Python calls an overload of PyTorch, with their names; deprecated ones come last."""
    signatures = [
        (python_name(module, signature.name), signature)
        for module, signature in signatures_by_function(job).get(function, ())
    ]
    return sorted(signatures, key=lambda named: named[1].deprecated)


def python_name(module: PythonModule, name: str) -> str:
    """Where Python finds a function; the public place if it has one.

    >>> from opwright.convention.python.bound import LINALG, NN
    >>> python_name(LINALG, "linalg_inv"), python_name(NN, "gelu")
    ('torch.linalg.inv', 'torch._C._nn.gelu')
    """
    if module.key is not None:
        public = name.removeprefix(f"{module.key}_")
        return f"{module.name}.{public}" if public != name else f"torch._C._{module.key}.{name}"
    if module is TORCH and (name.startswith("__") or name in _PRIVATE):
        return f"torch._C._VariableFunctions.{name}"
    return f"{module.name}.{name}"


def call_text(signature: PythonSignature, hints: Hints) -> str:
    """Parameters and result with the types of PyTorch's stubs; those of the parser where a type has no hint.

    They are on one line, as people read them: builtin types have their own names.

    >>> from opwright.convention.python.signature import python_signature
    >>> from opwright.release.rules import Rules
    >>> from opwright.release.version import parse_version
    >>> from opwright.schema import parse_schema
    >>> signature = python_signature(parse_schema("mix(Tensor self, int[2] by=1) -> Tensor"))
    >>> call_text(signature, Hints(Rules(parse_version("2.13"))))
    '(input: Tensor, by: int | Sequence[int] = 1) -> Tensor'
    """
    try:
        parameters = corrected(", ".join(hints.parameters(signature, signature.parameters)))
        return with_plain_names(f"({parameters}) -> {hints.returned(signature)}")
    except NoPythonType:
        return signature.text.removesuffix("|deprecated").removeprefix(signature.name)


@per_job
def shims_by_function(job: Job) -> Mapping[NativeFunction, Sequence[ShimUnit]]:
    """Units of each overload, one for each target that makes a shim for it."""
    units: dict[NativeFunction, list[ShimUnit]] = {}
    for unit in [unit for of_target in shim_units(job).values() for unit in of_target]:
        units.setdefault(unit.function, []).append(unit)
    return units


@per_job
def signatures_by_function(job: Job) -> Mapping[NativeFunction, Sequence[tuple[PythonModule, PythonSignature]]]:
    """Signatures of Python that call each overload, with the modules that have them. Raises FaultsFound.

    A signature with `out` calls two overloads.
    """
    signatures: dict[NativeFunction, list[tuple[PythonModule, PythonSignature]]] = {}
    for module in MODULES:
        for pair in [pair for binding in bindings(job, module) for pair in binding.pairs]:
            for function in (pair.base,) if pair.out is None else (pair.base, pair.out):
                signatures.setdefault(function, []).append((module, pair.signature))
    return signatures


def with_plain_names(text: str) -> str:
    """A text with builtin types under their own names."""
    return _STUB_NAME.sub(lambda name: _PLAIN_NAMES.get(name[1], name[1]), text)


def qualified_declaration(signature: CppSignature) -> str:
    """Declaration outside of namespaces and classes, such as `at::Tensor at::Tensor::add(...) const`."""
    return signature.declaration(qualified_cpp_name(signature)) + (" const" if signature.method else "")


def qualified_cpp_name(signature: CppSignature) -> str:
    """Name with its namespace, and the class if it is a method: `at::Tensor::add`."""
    return f"{signature.function.library.api}::{'Tensor::' if signature.method else ''}{signature.name}"
