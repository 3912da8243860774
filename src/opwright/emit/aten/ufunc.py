"""Kernels of ufuncs: `UfuncCPU_{op}.cpp`, `UfuncCPUKernel_{op}.cpp` and `UfuncCUDA_{op}.cu`.

PyTorch's build compiles `UfuncCPUKernel_{op}.cpp` for each instruction set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from opwright.convention import structured, ufunc
from opwright.cpp import c_types
from opwright.cpp.binding import Binding, Expression
from opwright.cpp.c_types import CType
from opwright.cpp.text import include_line
from opwright.cpp.translation import AvailableValue, translate, translated_call
from opwright.emit.aten.backend import backends
from opwright.emit.aten.meta_headers import meta_class
from opwright.emit.aten.native_headers import structured_class
from opwright.emit.aten.register.devices import hip_path
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.model.dispatch_key import CPU, CUDA, DispatchKey
from opwright.model.native_function import NativeFunctionsGroup, UfuncKey, UfuncLoop
from opwright.schema.types import SCALAR, TENSOR
from opwright.source import codes
from opwright.source.diagnostic import Fault

Loops = Mapping[UfuncKey, UfuncLoop]


def ufunc_groups(job: Job) -> list[NativeFunctionsGroup]:
    """Groups whose kernels are generated from a scalar function. Raises Fault if one of them is impossible."""
    groups = [group for group in job.catalog.structured_groups if group.out.ufunc]
    for group in groups:
        check_ufunc(group)
    return groups


def check_ufunc(group: NativeFunctionsGroup) -> None:
    """Raise Fault if the group names loops from which its kernels cannot be generated."""
    loops = group.out.ufunc
    for argument in group.functional.arguments.non_out if loops else ():
        if argument.type not in (TENSOR, SCALAR):
            subject = f"argument `{argument.name}` of `{group.out.name}`"
            message = f"{subject} is of type `{argument.type}`, which loops cannot pass on"
            raise Fault.at(codes.UFUNC_ARGUMENT, message, group.out.entry)
    fault = _fault_of_loops(group) if loops else ""
    if fault:
        message = f"no kernel can be generated from the loops of `{group.out.name}`: {fault}"
        raise Fault.at(codes.UFUNC_LOOPS, message, group.out.entry)


def _fault_of_loops(group: NativeFunctionsGroup) -> str:
    loops = group.out.ufunc
    if len({loops[key].name for key in _SHARED_LOOPS if key in loops}) > 1:
        return "ScalarOnly and Generic name different functions"
    if not all(key in loops for key in _functor_keys(group)) and not any(key in loops for key in _SHARED_LOOPS):
        return "neither Generic nor ScalarOnly names a scalar function"
    if any(key in loops for key in ufunc.HELD_TENSOR) and len(ufunc.tensors(group)) != 2:
        return "a functor for a tensor and a scalar tensor is named, and the function does not take two tensors"
    scalars, vectors = (_by_dtype(loops, choices) for choices in _CHOICES.values())
    if missing := [dtype for dtype in vectors if dtype not in scalars]:
        return f"there is a loop over vectors for {', '.join(missing)} and none over scalars"
    if uncalled := [dtype for dtype, functors in _functors(group).items() if UfuncKey.CUDAFunctor not in functors]:
        return f"there is no CUDAFunctor for {', '.join(uncalled)}, only functors that take a scalar"
    return ""


def _name(group: NativeFunctionsGroup) -> str:
    return group.functional.schema.name.name


def _parameters(bindings: Iterable[Binding]) -> str:
    return ", ".join([binding.definition for binding in bindings])


# The stub through which the structured kernel calls the kernel function.


def _stub(group: NativeFunctionsGroup) -> str:
    name = _name(group)
    types = ", ".join([binding.type.text for binding in ufunc.stub_arguments(group)])
    return f"using {name}_fn = void(*)(TensorIteratorBase&, {types});\nDECLARE_DISPATCH({name}_fn, {name}_stub)"


def _kernel(group: NativeFunctionsGroup, switch_name: str, cases: Sequence[str]) -> str:
    head = f"void {_name(group)}_kernel(TensorIteratorBase& iter, {_parameters(ufunc.stub_arguments(group))})"
    listed = "\n".join(cases)
    return f'{head} {{\n  AT_DISPATCH_SWITCH(iter.common_dtype(), "{switch_name}",\n{listed}\n  );\n}}'


def _case(dtype: str, body: str) -> str:
    return f"\nAT_DISPATCH_CASE(at::ScalarType::{dtype},\n  [&]() {{\n{body}\n  }}\n)\n"


def _implementation(group: NativeFunctionsGroup, key: DispatchKey, function: str) -> str:
    available = structured.impl_arguments(group)
    call = f"{function}, {', '.join(translate(available, ufunc.stub_arguments(group)))})"
    return f"TORCH_IMPL_FUNC({ufunc.kernel_name(group, key)})({_parameters(available)}) {{\n  {call};\n}}"


# CPU.


def cpu_definitions(group: NativeFunctionsGroup) -> str:
    """Stub and the kernel that calls it."""
    name = _name(group)
    body = _implementation(group, CPU, f"{name}_stub(device_type(), *this")
    return f"\n{_stub(group)}\nDEFINE_DISPATCH({name}_stub);\n\n{body}\n"


#: The loops that may name the scalar function of a loop over scalars or vectors, the preferred one first.
_CHOICES: Final = {
    UfuncKey.CPUScalar: (UfuncKey.CPUScalar, UfuncKey.ScalarOnly, UfuncKey.Generic),
    UfuncKey.CPUVector: (UfuncKey.CPUVector, UfuncKey.Generic),
}
_VECTOR: Final = c_types.vectorized(c_types.SCALAR_T)


def _by_dtype(loops: Loops, choices: Iterable[UfuncKey]) -> dict[str, str]:
    """Scalar function for each dtype, from the first choice that lists the dtype."""
    functors: dict[str, str] = {}
    for choice in choices:
        if choice in loops:
            for dtype in loops[choice].dtypes:
                functors.setdefault(dtype, loops[choice].name)
    return functors


def cpu_kernel(group: NativeFunctionsGroup) -> str:
    """Kernel function with its loops: for scalars and, if the entry names one, for vectors."""
    name = _name(group)
    scalars = _by_dtype(group.out.ufunc, _CHOICES[UfuncKey.CPUScalar])
    vectors = _by_dtype(group.out.ufunc, _CHOICES[UfuncKey.CPUVector])
    cases = [_case(dtype, _cpu_loop(group, scalar, vectors.get(dtype))) for dtype, scalar in scalars.items()]
    return (
        f"\nnamespace {{\n\n{_kernel(group, f'{name}_stub', cases)}\n\n}} // anonymous namespace\n\n"
        f"{_stub(group)}\nREGISTER_DISPATCH({name}_stub, &{name}_kernel)\n"
    )


def _cpu_loop(group: NativeFunctionsGroup, scalar: str, vector: str | None) -> str:
    scalar_type = structured.argument_type(SCALAR)
    scalars = [binding.name for binding in ufunc.stub_arguments(group) if binding.type is scalar_type]
    lines = [f"auto _s_{name} = {name}.to<scalar_t>();" for name in scalars]
    available: list[AvailableValue] = [Expression(f"_s_{name}", name, c_types.SCALAR_T) for name in scalars]
    if vector is None:
        loops, function = [_lambda(group, scalar, c_types.SCALAR_T, available)], "cpu_kernel"
    else:
        lines += [f"auto _v_{name} = at::vec::Vectorized<scalar_t>(_s_{name});" for name in scalars]
        available += [Expression(f"_v_{name}", name, _VECTOR) for name in scalars]
        loops = [_lambda(group, scalar, c_types.SCALAR_T, available), _lambda(group, vector, _VECTOR, available)]
        function = "cpu_kernel_vec"
    passed = ",\n".join([f"  {loop}" for loop in loops])
    return "\n".join(["", *(lines or [""]), f"{function}(iter,", passed, ");", ""])


def _lambda(group: NativeFunctionsGroup, function: str, computed: CType, available: Sequence[AvailableValue]) -> str:
    elements = ufunc.tensor_elements(group, computed)
    wanted = ufunc.scalar_arguments(group, computed)
    call = translated_call(f"ufunc::{function}", (*available, *elements), wanted)
    return f"[=]({_parameters(elements)}) {{ return {call}; }}"


# CUDA.


def _functor_keys(group: NativeFunctionsGroup) -> tuple[UfuncKey, ...]:
    """Functors of a kernel. If it takes two tensors, either may be a scalar in CPU memory."""
    if len(ufunc.tensors(group)) == 2:
        return (UfuncKey.CUDAFunctorOnSelf, UfuncKey.CUDAFunctorOnOther, UfuncKey.CUDAFunctor)
    return (UfuncKey.CUDAFunctor,)


_SHARED_LOOPS: Final = (UfuncKey.ScalarOnly, UfuncKey.Generic)


def _functors(group: NativeFunctionsGroup) -> dict[str, dict[UfuncKey, str]]:
    loops = group.out.ufunc
    by_dtype: dict[str, dict[UfuncKey, str]] = {}
    shared = _by_dtype(loops, _SHARED_LOOPS)
    for key in _functor_keys(group):
        # An entry that names this loop names a functor that is written by hand.
        names = _by_dtype(loops, [key]) if key in loops else {dtype: f"{key.value}_{shared[dtype]}" for dtype in shared}
        for dtype, functor in names.items():
            by_dtype.setdefault(dtype, {})[key] = functor
    return by_dtype


def cuda_definitions(group: NativeFunctionsGroup) -> str:
    """Functors, the kernel function that chooses one of them, and the kernel that calls this function."""
    name = _name(group)
    loops = group.out.ufunc
    shared = _by_dtype(loops, _SHARED_LOOPS)
    keys = [key for key in _functor_keys(group) if key not in loops]
    functors = [_functor(group, key, next(iter(shared.values()))) for key in keys]
    cases = [_case(dtype, _cuda_choice(group, chosen)) for dtype, chosen in _functors(group).items()]
    kernel = _kernel(group, ufunc.kernel_name(group, CUDA), cases)
    body = _implementation(group, CUDA, f"{name}_kernel(*this")
    return (
        "\n" + "\n".join(functors) + f"\n\n{_stub(group)}\n\n{kernel}\n"
        f"REGISTER_DISPATCH({name}_stub, &{name}_kernel)\n\n{body}\n"
    )


def _functor(group: NativeFunctionsGroup, key: UfuncKey, function: str) -> str:
    """A class template that holds the values that all elements share, and computes one element per call."""
    name = f"{key.value}_{function}"
    held, passed = ufunc.functor_arguments(group, key)
    fields = tuple([Binding(f"{binding.name}_", binding.role, binding.type, binding.argument) for binding in held])
    members = "\n".join([f"{field.definition};" for field in fields])
    initial = ", ".join([f"{binding.name}_({binding.name})" for binding in held])
    call = translated_call(f"ufunc::{function}", fields + passed, ufunc.scalar_arguments(group, c_types.OPMATH_T))
    return (
        "\ntemplate <typename scalar_t>\n"
        f"struct {name} {{\n"
        "  using opmath_t = at::opmath_type<scalar_t>;\n"
        f"  {members}\n"
        f"  {name}({_parameters(held)}) : {initial} {{}}\n"
        f"  __device__ scalar_t operator()({_parameters(passed)}) const {{\n"
        f"    return {call};\n"
        "  }\n"
        "};\n"
    )


def _cuda_choice(group: NativeFunctionsGroup, functors: Mapping[UfuncKey, str]) -> str:
    """Statements that choose and call the functor: one of the tensors may be a scalar in CPU memory."""
    available: tuple[AvailableValue, ...] = structured.impl_arguments(group)
    # The output is the first operand of the iterator.
    special = [(key, ufunc.HELD_TENSOR[key]) for key in (UfuncKey.CUDAFunctorOnOther, UfuncKey.CUDAFunctorOnSelf)]
    text = "    using opmath_t = at::opmath_type<scalar_t>;if (false) {}\n"
    for key, index in special:
        if key in functors:
            tensor = ufunc.tensors(group)[index].name
            value = Expression(f"iter.scalar_value<opmath_t>({index + 1})", tensor, c_types.OPMATH_T)
            arguments = ", ".join(translate((*available, value), ufunc.functor_arguments(group, key).held))
            text += (
                f"else if (iter.is_cpu_scalar({index + 1})) {{\n"
                f"  {functors[key]}<scalar_t> ufunctor({arguments});\n"
                f"  iter.remove_operand({index + 1});\n"
                "  gpu_kernel(iter, ufunctor);\n"
                "}"
            )
    arguments = ", ".join(translate(available, ufunc.functor_arguments(group, UfuncKey.CUDAFunctor).held))
    return f"{text}\nelse {{\n  gpu_kernel(iter, {functors[UfuncKey.CUDAFunctor]}<scalar_t>({arguments}));\n}}\n"


# Files.


def _class_slots(group: NativeFunctionsGroup, key: DispatchKey, context: FragmentContext) -> dict[str, str]:
    """Declarations that the definitions need.

    The file has copies instead of including a header, so that a change of other operators does not change it.
    """
    return {
        "meta_declaration": meta_class(group),
        "native_declaration": structured_class(group, group.out.kernels[key], context.rules),
    }


def _cpu_file(group: NativeFunctionsGroup, context: FragmentContext) -> Slots:
    return {**_class_slots(group, CPU, context), "native_definitions": cpu_definitions(group)}


def _cpu_kernel_file(group: NativeFunctionsGroup, context: FragmentContext) -> Slots:
    return {"name": _name(group), "native_definitions": cpu_kernel(group)}


def _cuda_file(group: NativeFunctionsGroup, context: FragmentContext) -> Slots:
    loops = "ATen/native/cuda/Loops.cuh"
    return {
        **_class_slots(group, CUDA, context),
        "name": _name(group),
        "cuda_headers": include_line(hip_path(loops) if context.options.rocm else loops),
        "native_definitions": cuda_definitions(group),
    }


def _emitter(
    name: str, template: str, ending: str, fragment: Callable[[NativeFunctionsGroup, FragmentContext], Slots]
) -> Emitter[NativeFunctionsGroup]:
    return Emitter(
        name=name,
        family="sources",
        template=f"{template}{ending}",
        units=ufunc_groups,
        fragment=fragment,
        layout=FilePerUnit(lambda group: f"{template}_{_name(group)}{ending}"),
    )


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of ufunc kernels, for the backends of the run."""
    keys = [backend.key for backend in backends(job)]
    all_emitters: list[AnyEmitter] = []
    if CPU in keys:
        all_emitters += [
            _emitter("ufunc_cpu_sources", "UfuncCPU", ".cpp", _cpu_file),
            _emitter("ufunc_cpu_kernel_sources", "UfuncCPUKernel", ".cpp", _cpu_kernel_file),
        ]
    if CUDA in keys:
        all_emitters.append(_emitter("ufunc_cuda_sources", "UfuncCUDA", ".cu", _cuda_file))
    return all_emitters
