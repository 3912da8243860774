"""What a dispatch key is for, in sentences: the kernels that stand in for missing ones, and where others are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.backends.dispatch.runtime_keys import KeyFallback, KeyKind, RuntimeKey, runtime_keys
from opwright.model.dispatch_key import KEYS, LIBRARY_KEYS, composite_keys


def key_names() -> frozenset[str]:
    """Names of all dispatch keys, of those without generated kernels too.

    >>> {"CPU", "Tracer", "AutocastPrivateUse1", "Autograd"} - key_names()
    set()
    """
    return frozenset([*KEYS, *LIBRARY_KEYS, *[runtime_key.name for runtime_key in runtime_keys()]])


def key_text(name: str) -> str:
    """What a key of `key_names()` is for, as sentences.

    >>> print(key_text("AutogradCPU"))  # doctest: +ELLIPSIS
    It stands for gradients of the tensors of a device (the device CPU). ...
    """
    runtime_key = next((key for key in runtime_keys() if key.name == name), None)
    if runtime_key is not None:
        return " ".join(_runtime_sentences(runtime_key))
    return _ALIASES.get(name, "It is none of the keys under which the dispatcher has kernels.")


#: What kernels of the alias keys are for. PyTorch's `aten/src/ATen/native/README.md` says it at more length.
_ALIASES: Final = {
    "CompositeImplicitAutograd": "It stands for all devices and their gradients: its kernels call other operators, "
    "whose gradients are those of the operator. It is the key of entries without `dispatch`.",
    "CompositeImplicitAutogradNestedTensor": "It stands for nested tensors and their gradients, as "
    "CompositeImplicitAutograd does for others.",
    "CompositeExplicitAutograd": "It stands for all devices: its kernels call other operators, and the gradient is a "
    "formula of derivatives.yaml.",
    "CompositeExplicitAutogradNonFunctional": "It stands for all devices but those whose tensors are functionalized: "
    "its kernels call other operators in forms that write to their arguments. The wrappers of structured kernels that "
    "allocate outputs are registered for it too.",
    "Autograd": "It stands for the Autograd keys of all devices: its kernels record gradients, then call the kernel "
    "below.",
}


def _runtime_sentences(key: RuntimeKey) -> Iterator[str]:
    device = f" (the device {key.backend})" if key.backend else ""
    yield f"It stands for {key.kind.value}{device}."
    aliases = _aliases(key)
    last = f"{key.fallback.value}: {key.does}" if key.fallback is KeyFallback.boxed and key.does else key.fallback.value
    yield (
        f"Operators without a kernel for it run that for {aliases}; without these, {last}."
        if aliases
        else f"What runs for operators without a kernel for it: {last}."
    )
    if key.by_hand:
        yield f"PyTorch registers some by hand in {', '.join(key.by_hand)}."


def _aliases(key: RuntimeKey) -> str:
    """The alias keys whose kernels stand in, in the order in which PyTorch asks them."""
    if key.kind is KeyKind.backend:
        names = [composite.name for composite in composite_keys(key.key)]
        return f"{', '.join(names[:-1])} or {names[-1]}, the first that there is"
    if key.kind is KeyKind.autograd:
        return "CompositeImplicitAutograd, if they have none for the device, or Autograd"
    return ""
