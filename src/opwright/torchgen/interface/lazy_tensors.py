"""Names of `torchgen.gen_lazy_tensor` for importers; the program is `opwright.torchgen.gen_lazy_tensor`."""

from __future__ import annotations

import inspect
from dataclasses import fields
from functools import partial
from typing import Any, Final, NamedTuple

from opwright.backends.choices import BackendHeaders, LazyNames
from opwright.backends.lazy.files import lazy_emitters
from opwright.backends.lazy.kernel import LazyKernel
from opwright.backends.lazy.node import LazyNode
from opwright.backends.lazy_backend import LazyBackend, RunLazyBackends
from opwright.emit.emitter import AnyEmitter, FragmentContext, Options
from opwright.release.inputs import from_source_path
from opwright.run.generation import Generation
from opwright.torchgen.api.lazy import schema_of_node, setValueT
from opwright.torchgen.dest.lazy_ir import GenLazyIR, GenLazyNativeFuncDefinition, GenTSLazyIR
from opwright.torchgen.interface.backends import BackendRun, index_of_section
from opwright.torchgen.interface.cpp_types import cpp_type_of
from opwright.torchgen.interface.functions import function_of
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.utils import running_program

__all__ = ["GenLazyIR", "GenLazyNativeFuncDefinition", "GenTSLazyIR", "default_args", "run_gen_lazy_tensor"]


_NAMES: Final = LazyNames()


class default_args:  # noqa: N801
    """What a run has unless its caller says otherwise."""

    backend_name: str = _NAMES.backend_name
    lazy_ir_generator: type[GenLazyIR] = GenLazyIR
    native_func_definition_generator: type[GenLazyNativeFuncDefinition] = GenLazyNativeFuncDefinition
    node_base: str = _NAMES.node_base
    node_base_hdr: str | None = None
    tensor_class: str = "torch::lazy::LazyTensor"
    tensor_class_hdr: str = _NAMES.tensor_header
    shape_inference_hdr: str | None = _NAMES.shape_header


class _Printer(NamedTuple):
    """Prints nodes and kernels with generators that a backend may have overridden."""

    nodes: GenLazyIR
    kernels: GenLazyNativeFuncDefinition

    def print_node(self, node: LazyNode, _: FragmentContext) -> str:
        """Class of a node."""
        return "".join(self.nodes.gen(schema_of_node(node)))

    def print_kernel(self, kernel: LazyKernel, _owner: str, _: FragmentContext) -> str:
        """Definition of a kernel."""
        return "".join(self.kernels(function_of(kernel.function)))


@record()
class _LazyRun(Record):
    """A run with all its choices."""

    aten_path: str
    source_yaml: str
    output_dir: str
    dry_run: bool
    impl_path: str | None
    node_base: str = default_args.node_base
    node_base_hdr: str | None = default_args.node_base_hdr
    tensor_class: str = default_args.tensor_class
    tensor_class_hdr: str = default_args.tensor_class_hdr
    shape_inference_hdr: str | None = default_args.shape_inference_hdr
    lazy_ir_generator: type[GenLazyIR] = default_args.lazy_ir_generator
    native_func_definition_generator: type[GenLazyNativeFuncDefinition] = GenLazyNativeFuncDefinition
    build_in_tree: bool = False
    per_operator_headers: bool = False
    backend_name: str = default_args.backend_name
    gen_forced_fallback_code: bool = False
    use_lazy_shape: bool = True
    backend_namespace: str = _NAMES.namespace
    get_tensorlist: str = _NAMES.get_tensor_list
    get_tensor_or_wrap_number: str = _NAMES.get_tensor
    try_get_tensor: str = _NAMES.try_get_tensor
    metrics_counter: str = _NAMES.counter
    create_tensor: str = _NAMES.create_tensor
    create_from_first_tensor: bool = False
    create_aten_from_ltc_tensor: str = _NAMES.to_aten
    tuple_aten_from_ltc_tensors: str = _NAMES.to_aten_tuple
    lazy_value_class: str = _NAMES.value
    lazy_tensor_ptr: str = _NAMES.tensor_pointer
    get_device_fn: str = _NAMES.get_device

    def write(self) -> None:
        """Write all files. Raises AssertionError with all mistakes."""
        setValueT(cpp_type_of(self.lazy_value_class))
        # What Opwright needs to know of the run besides what the generators print.
        names = LazyNames(
            node_base_header=self.node_base_hdr,
            shape_header=self.shape_inference_hdr,
            tensor_header=self.tensor_class_hdr,
            in_tree=self.build_in_tree,
            backend_name=self.backend_name,
            forced_fallback=self.gen_forced_fallback_code,
            create_from_tensor=self.create_from_first_tensor,
            value=self.lazy_value_class,
        )
        BackendRun(
            program="gen_lazy_tensor",
            source_yaml=self.source_yaml,
            output_dir=self.output_dir,
            open_release=partial(from_source_path, self.aten_path),
            options=Options(
                per_operator_headers=self.per_operator_headers,
                program=running_program(),
                guests=(BackendHeaders(f"{self.output_dir}/"), names),
            ),
            impl_path=self.impl_path,
            emitters=self._emitters,
        ).write(is_dry=self.dry_run)

    def _emitters(self, generation: Generation) -> list[AnyEmitter]:
        backends = generation.job.of(RunLazyBackends).lazy_backends
        return [emitter for backend in backends for emitter in lazy_emitters(backend, self._printer(backend), "lazy")]

    def _printer(self, lazy: LazyBackend) -> _Printer:
        backend = lazy.backend
        section = backend.section("supported")
        assert section is not None, "backends without operators are refused"
        index = index_of_section(section, backend)
        choices = {name: getattr(self, name) for name in _KERNEL_CHOICES}
        return _Printer(
            self.lazy_ir_generator(index, self.backend_name, self.node_base, self.use_lazy_shape),
            self.native_func_definition_generator(class_method_name=backend.class_name, backend_index=index, **choices),
        )


#: The choices of a run that the generator of kernels takes.
_KERNEL_CHOICES: Final = [field.name for field in fields(GenLazyNativeFuncDefinition)[2:]]


def run_gen_lazy_tensor(*choices: Any, **named_choices: Any) -> None:  # noqa: ANN401
    """Write the code of lazy tensors of a backend, with nodes and kernels as classes of the caller print them.

    `aten_path` is the folder of the release's inputs. A C++ file at `impl_path` has to define the kernels that are not
    generated. Raises AssertionError with all mistakes.
    """
    _LazyRun(*choices, **named_choices).write()


#: The choices have names and defaults, which callers may ask for.
setattr(run_gen_lazy_tensor, "__signature__", inspect.signature(_LazyRun))  # noqa: B010
