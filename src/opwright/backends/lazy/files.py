"""Files of lazy tensors, and how their code is printed: what a backend changes that lowers graphs in its own way.

The files are the same for all backends. A package with a style of its own registers a family whose module has this:

    STYLE = LazyStyle(TORCHSCRIPT.nodes._replace(lower=lower_to_mine), TORCHSCRIPT.kernels)

    def emitters(job: Job) -> list[AnyEmitter]:
        backends = job.of(RunLazyBackends).lazy_backends
        return [emitter for backend in backends for emitter in lazy_emitters(backend, STYLE, "mine")]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from opwright.backends.choices import BackendHeaders, LazyNames
from opwright.backends.emit.headers import native_functions_header
from opwright.backends.emit.registrations import slots_of_file
from opwright.backends.emit.section_file import SectionFile
from opwright.backends.emit.sections import RegisteredUnit, registered_units
from opwright.backends.lazy import kernel, node
from opwright.backends.lazy.kernel import KernelStyle, LazyKernel, kernel_definition
from opwright.backends.lazy.node import LazyNode, NodeStyle, node_class, node_of, non_native_node
from opwright.backends.lazy_backend import LazyBackend, RunLazyBackends
from opwright.cpp.namespaces import closing, opening
from opwright.cpp.text import include_line, quoted_include_line
from opwright.emit.aten.backend import Backend, KernelUnit, members
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.register.helpers import registration_headers, registration_helpers
from opwright.emit.aten.register.registration import registration, wrapper_definition, wrapper_of
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots, per_job
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.source.records import NamedTuple


@per_job
def _functions(job: Job) -> Sequence[NativeFunction]:
    """Functions in the order of the files."""
    return [function for unit in sorted(job.catalog.groups, key=_base_name) for function in members(unit)]


def _base_name(unit: KernelUnit) -> str:
    """Name by which units are ordered."""
    function = unit.functional if isinstance(unit, NativeFunctionsGroup) else unit
    return function.name.name


class LazyPrinter(Protocol):
    """What prints the nodes and kernels of a backend."""

    def print_node(self, printed: LazyNode, context: FragmentContext, /) -> str:
        """Class of a node."""
        ...

    def print_kernel(self, printed: LazyKernel, owner: str, context: FragmentContext, /) -> str:
        """Definition of a kernel, a member of the class `owner`."""
        ...


class LazyStyle(NamedTuple):
    """Functions that print what backends print in their own ways."""

    nodes: NodeStyle
    kernels: KernelStyle

    def print_node(self, printed: LazyNode, context: FragmentContext) -> str:
        """Class of a node."""
        return node_class(printed, self.nodes, context.options.of(LazyNames), context.rules)

    def print_kernel(self, printed: LazyKernel, owner: str, context: FragmentContext) -> str:
        """Definition of a kernel, a member of the class `owner`."""
        return kernel_definition(printed, owner, self.kernels, context.options.of(LazyNames))


#: Nodes that are never used again, and lowered by the backend.
PLAIN: Final = LazyStyle(node.PLAIN, kernel.DEFAULT)
#: The TorchScript backend of PyTorch.
TORCHSCRIPT: Final = LazyStyle(node.TORCHSCRIPT, kernel.DEFAULT)

#: The styles that a run can name.
STYLES: Final = {"plain": PLAIN, "torchscript": TORCHSCRIPT}


def lazy_emitters(backend: LazyBackend, printer: LazyPrinter, family: str) -> list[AnyEmitter]:
    """Emitters of all files of a backend, whose output folder has the name of their family."""
    name = backend.backend.display_name
    nodes = Emitter(
        name="nodes_header",
        family=family,
        template="lazy/LazyIr.h",
        folder=family,
        units=partial(_nodes, backend),
        fragment=lambda node, context: {"ir_declarations": [printer.print_node(node, context)]},
        file_slots=partial(_node_slots, backend),
        layout=OneFile("LazyIr.h"),
    )
    non_native_nodes = Emitter(
        name="non_native_nodes_header",
        family=family,
        template="lazy/LazyNonNativeIr.h",
        folder=family,
        units=partial(_non_native_nodes, backend),
        fragment=lambda node, context: {"non_native_ir_nodes": [printer.print_node(node, context)]},
        file_slots=partial(_non_native_slots, backend),
        layout=OneFile("LazyNonNativeIr.h"),
    )
    kernels = Emitter(
        name=f"{name.lower()}_native_functions_source",
        family=family,
        template="lazy/DispatchKeyNativeFunctions.cpp",
        folder=family,
        units=partial(_kernels, backend),
        fragment=partial(_kernel_fragment, backend.backend.class_name, printer),
        file_slots=partial(_kernel_file_slots, backend),
        layout=OneFile(f"{name}NativeFunctions.cpp"),
    )
    return [
        native_functions_header(backend.backend, family),
        *_registration_sources(backend, family),
        kernels,
        nodes,
        non_native_nodes,
    ]


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of all files of the run's backends with lazy tensors, in the style that the run names."""
    style, backends = STYLES[job.options.of(LazyNames).style], job.of(RunLazyBackends).lazy_backends
    return [emitter for backend in backends for emitter in lazy_emitters(backend, style, "lazy")]


#: What the headers include besides the base class of nodes.
_INCLUDED: Final = (
    "ATen/core/Formatting.h",
    "c10/core/ScalarType.h",
    "torch/csrc/lazy/core/hash.h",
    "torch/csrc/lazy/core/ir.h",
    "torch/csrc/lazy/core/shape.h",
    "optional",
    "vector",
)
_INCLUDED_NON_NATIVE: Final = (
    "torch/csrc/lazy/core/ir.h",
    "torch/csrc/lazy/core/ir_builder.h",
    "torch/csrc/lazy/core/internal_ops/ltc_ops.h",
    "torch/csrc/lazy/core/shape_inference.h",
)


def _nodes(backend: LazyBackend, job: Job) -> Sequence[LazyNode]:
    symint = {entry.function: False for entry in backend.nodes}
    symint |= {entry.function: entry.kernel.symint for entry in backend.generated}
    value = job.options.of(LazyNames).value
    return [node_of(function, value, symint=symint[function]) for function in _functions(job) if function in symint]


def _non_native_nodes(backend: LazyBackend, job: Job) -> Sequence[LazyNode]:
    return [non_native_node(node, job.options.of(LazyNames).value) for node in backend.non_native]


def _node_slots(backend: LazyBackend, job: Job) -> Slots:
    header = job.options.of(LazyNames).node_base_header
    return {
        "lazy_ir_sysinc": list(map(include_line, _INCLUDED)),
        "lazy_ir_inc": [] if header is None else [quoted_include_line(header)],
        "ir_declarations": [],
        **_namespace(backend),
    }


def _non_native_slots(backend: LazyBackend, job: Job) -> Slots:
    header = job.options.of(LazyNames).node_base_header
    paths = [*_INCLUDED_NON_NATIVE, *([header] if header else [])]
    return {
        "lazy_non_native_ir_inc": list(map(include_line, paths)),
        "non_native_ir_nodes": [],
        **_namespace(backend),
    }


def _namespace(backend: LazyBackend) -> Slots:
    namespace = backend.backend.cpp_namespace
    return {"namespace_prologue": opening(namespace), "namespace_epilogue": closing(namespace)}


def template_slots(job: Job) -> Slots:
    """What PyTorch's template of a file is filled with: the one of a unit, for all units of the file together."""
    return slots_of_file(job, "deferred_dispatch_registrations")


def _registration_sources(backend: LazyBackend, family: str) -> list[AnyEmitter]:
    files = [SectionFile(backend.backend, section) for section in backend.backend.sections if section.entries]
    return [
        Emitter(
            name=f"register_lazy_{file.name.lower()}_source",
            family=family,
            template="lazy/RegisterDispatchKey.cpp",
            folder=family,
            units=partial(_units, file=file),
            fragment=partial(_fragment, file.wrapping),
            reads=(NATIVE_AOT_KERNELS,),
            file_slots=partial(_file_slots, file),
            layout=OneFile(f"Register{file.name}.cpp"),
        )
        for file in files
    ]


@per_job
def _units(job: Job, file: SectionFile) -> Sequence[RegisteredUnit]:
    """Units of a section in the order of the files, which its slots and its fragments ask for."""
    return sorted(registered_units(file, job), key=lambda unit: _base_name(unit.wrapped[0]))


def _fragment(wrapping: Backend, unit: RegisteredUnit, context: FragmentContext) -> Slots:
    group, kinds = unit.wrapped
    wrappers = [wrapper_of(function, kind, wrapping) for function, kind in kinds]
    definitions = [wrapper_definition(wrapper, group, wrapping, context) for wrapper in wrappers]
    return {"dispatch_anonymous_definitions": definitions}


def _file_slots(file: SectionFile, job: Job) -> Slots:
    names, per_operator_headers = job.options.of(LazyNames), job.options.per_operator_headers
    header = f"{job.options.of(BackendHeaders).folder}{file.backend.display_name}NativeFunctions.h"
    wrapping = file.wrapping
    return {
        "extra_cuda_headers": "",
        "external_backend_headers": include_line(header) if names.in_tree else quoted_include_line(header),
        "dispatch_headers": registration_headers(
            wrapping, per_operator_headers=per_operator_headers, rocm=False, rules=job.rules
        ),
        "ops_headers": "" if per_operator_headers else "#include <ATen/Functions.h>",
        "dispatch_helpers": registration_helpers(wrapping, job.rules),
        "deferred_dispatch_registrations": _registration_function(file, job),
        "dispatch_namespace": file.name.lower(),
    }


def _registration_function(file: SectionFile, job: Job) -> list[str]:
    head = f"TORCH_API void Register{job.options.of(LazyNames).backend_name}{file.name}NativeFunctions()"
    kinds = [kind for unit in _units(job, file=file) for kind in unit.wrapped[1]]
    wrappers = [wrapper_of(function, kind, file.wrapping) for function, kind in kinds]
    return [
        f"{head};",
        f"{head} {{",
        f"    static auto m = MAKE_TORCH_LIBRARY_IMPL(aten, {file.wrapping.key.name});",
        *[f"    {registration(wrapper)}".replace("\n", "\n    ") for wrapper in wrappers],
        "}",
    ]


#: What the file includes between the headers of tensors and shapes and the generated headers.
_INCLUDED_BY_KERNELS: Final = (
    "ATen/Functions.h",
    "ATen/native/TensorConversions.h",
    "ATen/NativeFunctions.h",
    "ATen/CompositeExplicitAutogradNonFunctionalFunctions.h",
    "ATen/MetaFunctions.h",
    "ATen/Operators.h",
    "ATen/native/CPUFallback.h",
    "torch/csrc/lazy/core/ir_builder.h",
    "torch/csrc/lazy/core/lazy_graph_executor.h",
    "torch/csrc/lazy/core/metrics.h",
    "torch/csrc/lazy/core/shape.h",
)
_FALLBACK: Final = "torch/csrc/lazy/ts_backend/ts_eager_fallback.h"

_EMPTY_META: Final = ", ".join(
    [
        "tensor.sym_sizes()",
        "tensor.sym_strides()",
        "/*dtype=*/tensor.scalar_type()",
        "/*layout=*/tensor.layout()",
        "/*device=*/c10::Device(c10::kMeta)",
        "/*pin_memory=*/std::nullopt",
    ]
)
#: The functions that give a meta tensor for each tensor.
_TO_META: Final = f"""\
at::Tensor to_meta(const at::Tensor& tensor) {{
  // undefined tensors can't be converted to the meta device, since they don't have sizes/strides
  if (!tensor.defined()) return tensor;
  auto out = at::native::empty_strided_meta_symint({_EMPTY_META});
  // needs to handle wrapped numbers, so dtype promotion works properly.
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {{
    out.unsafeGetTensorImpl()->set_wrapped_number(true);
  }}
  return out;
}}
std::optional<at::Tensor> to_meta(const std::optional<at::Tensor>& tensor) {{
  if (tensor.has_value()) {{
    return to_meta(*tensor);
  }}
  return std::nullopt;
}}

std::vector<at::Tensor> to_meta(at::ITensorListRef t_list) {{
  std::vector<at::Tensor> outs;
  outs.reserve(t_list.size());
  for (const auto& tensor : t_list) {{
    outs.push_back(to_meta(tensor));
  }}
  return outs;
}}
"""


def _kernels(backend: LazyBackend, job: Job) -> Sequence[LazyKernel]:
    kernels = {entry.function: entry.kernel for entry in backend.generated}
    chosen = [(function, kernels[function]) for function in _functions(job) if function in kernels]
    return [LazyKernel(function, kernel.name, kernel.symint) for function, kernel in chosen]


def _kernel_fragment(owner: str, printer: LazyPrinter, kernel: LazyKernel, context: FragmentContext) -> Slots:
    return {"native_function_definitions": [printer.print_kernel(kernel, owner, context)]}


def _kernel_file_slots(backend: LazyBackend, job: Job) -> Slots:
    names, folder = job.options.of(LazyNames), job.options.of(BackendHeaders).folder
    generated = (f"{folder}{backend.backend.display_name}NativeFunctions.h", f"{folder}LazyIr.h")
    paths = [names.tensor_header, f"{names.shape_header}", *_INCLUDED_BY_KERNELS, *generated]
    paths += [_FALLBACK] if names.forced_fallback else []
    namespace = backend.backend.cpp_namespace
    return {
        "includes": list(map(include_line, paths)),
        "native_functions_include": "",
        "helper_fns": _TO_META,
        "native_function_definitions": [],
        "namespace_prologue": opening(namespace),
        "namespace_epilogue": closing(namespace),
    }
