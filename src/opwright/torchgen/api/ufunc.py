"""Convention of kernels made from a function of one element: the names of `torchgen.api.ufunc`."""

from __future__ import annotations

from opwright.convention import ufunc
from opwright.torchgen.interface.cpp_types import Binding, CType, bindings_of, model_ctype
from opwright.torchgen.interface.functions import NativeFunctionsGroup, model_group
from opwright.torchgen.interface.keys import DispatchKey, model_key


def kernel_name(g: NativeFunctionsGroup, dispatch_key: DispatchKey) -> str:
    """Name of the kernel of a group for a dispatch key."""
    return ufunc.kernel_name(model_group(g), model_key(dispatch_key))


def stub_arguments(g: NativeFunctionsGroup) -> list[Binding]:
    """Parameters of the stub besides the iterator, which has the tensors."""
    return bindings_of(ufunc.stub_arguments(model_group(g)))


def ufunc_arguments(g: NativeFunctionsGroup, *, compute_t: CType) -> list[Binding]:
    """Parameters of the function of one element if it computes in a type."""
    return bindings_of(ufunc.scalar_arguments(model_group(g), model_ctype(compute_t)))
