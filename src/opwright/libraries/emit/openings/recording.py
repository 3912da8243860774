"""What records calls of operators in nodes of PyTorch's graph, for modules that register gradients."""

from __future__ import annotations

from contextlib import contextmanager as _contextmanager

import torch as _torch
import torch.autograd.forward_ad as _forward_mode
from torch import _C
from torch._functorch.utils import enable_single_level_autograd_function as _single_level
from torch.autograd.function import _SingleLevelFunction

_below_autograd = _C._AutoDispatchBelowADInplaceOrView


class _Function(_SingleLevelFunction):
    """A function that records a call in one node, also below the transformations of `torch.func`."""

    @staticmethod
    def _compiled_autograd_key(ctx):
        """What tells nodes of this function apart for compiled autograd, which guards what they keep."""
        return (ctx._autograd_function_id,)


@_contextmanager
def _below_transformation():
    """Outer transformations of `torch.func` record too, for which PyTorch switches this off in a function."""
    with _torch.enable_grad(), _forward_mode._set_fwd_grad_enabled(True), _below_autograd():
        yield


def _below_record():
    """What the call of an operator by the function that records it runs in."""
    return _below_transformation() if _C._are_functorch_transforms_active() else _below_autograd()


def _recorder(function):
    """What calls a function and records the call, also below the transformations of `torch.func`."""
    apply = function.apply

    def record(*arguments):
        if not _C._are_functorch_transforms_active():
            return apply(*arguments)
        with _single_level():
            return apply(*arguments)

    return record


def _has_tangents(*tensors):
    """Whether tensors have tangents in forward mode."""
    return _forward_mode._current_level >= 0 and any(
        tensor is not None and _forward_mode.unpack_dual(tensor).tangent is not None for tensor in tensors
    )
