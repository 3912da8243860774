"""Units of most ATen files: overloads, and operators with all of their overloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, TypeAlias

from opwright.cpp.text import include_line
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots, Unit
from opwright.model.library import Library
from opwright.model.native_function import NativeFunction

RootOverloads: TypeAlias = tuple[str, Sequence[NativeFunction]]
"""A root name with the overloads that share its headers."""

KEY_SET: Final = "dispatchKeySet"
"""The name of the first parameter of `redispatch`, before the operator's parameters."""

NO_SLOTS: Slots = {}
"""The fragment of a unit that adds nothing to a file."""


#: The overloads that a shard of a lean run has at most, as a mean.
_LEAN_SHARD: Final = 320


def shard_count(shards: int, count_overloads: Callable[[], int], job: Job) -> int:
    """Over how many files overloads are spread: `shards`, as the release says, and more in lean runs if these are long.

    The number is doubled until the files are short: few new operators change it, and with it the files of the others.
    """
    if job.options.lean:
        overloads = count_overloads()
        while shards * _LEAN_SHARD < overloads:
            shards *= 2
    return shards


def overloads(job: Job) -> Sequence[NativeFunction]:
    """All overloads, in the catalog's order."""
    return job.catalog.functions


def methods(job: Job) -> Sequence[NativeFunction]:
    """Overloads that are methods of `Tensor`."""
    return [function for function in job.catalog.functions if function.method]


def roots(job: Job) -> Sequence[RootOverloads]:
    """Root names with their overloads, in the order in which the names first occur."""
    return list(job.by_root.items())


def includes(ending: str, wanted: Callable[[NativeFunction], bool] | None, job: Job) -> list[str]:
    """The `#include` lines of the per-operator headers `ROOT{ending}.h`, sorted by root name.

    With `wanted`, only those of the operators with an overload for which it is true.
    """
    chosen = [group[0] for group in job.by_root.values() if wanted is None or any(map(wanted, group))]
    return [include(function, ending) for function in sorted(chosen, key=attrgetter("root_name"))]


def with_own_headers(headers: Sequence[str], code: Slots, context: FragmentContext) -> Slots:
    """Fragment of a unit with code for some slots and the includes that this code needs.

    Otherwise than in lean runs, a unit without code has includes too.
    """
    return code if context.options.own_headers and not any(code.values()) else {"ops_headers": headers, **code}


def own_name(function: NativeFunction, name: str) -> str:
    """What a parameter or a variable of generated code is called: another name if an argument of a library has it.

    The code for PyTorch's operators is as its generator writes it.
    """
    if function.library.takes_any_schema:
        taken = {argument.name for argument in function.arguments.all}
        while name in taken:
            name = f"generated_{name}"
    return name


def key_set_parameter(function: NativeFunction) -> str:
    """The first parameter of `redispatch`."""
    return f"c10::DispatchKeySet {own_name(function, KEY_SET)}"


def include(function: NativeFunction, ending: str) -> str:
    """The `#include` line of one header of the function's operator, such as `ROOT_ops.h` for `_ops`."""
    return include_line(f"{function.library.headers}/{function.root_name}{ending}.h")


def file_emitter(
    name: str,
    path: str,
    units: Callable[[Job], Sequence[Unit]],
    fragment: Callable[[Unit, FragmentContext], Slots],
    slots: Sequence[str],
    *,
    family: str = "sources",
    folder: str = "aten",
) -> AnyEmitter:
    """Emitter of a file whose template has its name, and whose `slots` units fill."""
    return Emitter(
        name=name,
        family=family,
        template=path,
        folder=folder,
        units=units,
        fragment=fragment,
        layout=OneFile(path),
        file_slots=lambda job: dict.fromkeys(slots, ()),
    )


def kernel_argument(kernel: str, library: Library) -> str:
    """Argument with which `m.impl` registers a kernel of a library.

    A pointer at run time lets kernels of the same type share compiled code: the sources of a library compile in three
    quarters of the time. The kernels of PyTorch are known to the compiler, which saves a jump in each call.

    >>> from opwright.model.library import PYTORCH
    >>> kernel_argument("wrapper_CPU_relu", PYTORCH)
    'TORCH_FN(wrapper_CPU_relu)'
    """
    return f"TORCH_FN({kernel})" if library.in_libtorch else kernel
