"""Finds the operators behind the names that people hold: of Python, of C++, of autograd nodes, kernels and C shims.

Only the texts of entries are read, so that what is loaded afterwards stays small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from opwright.backends.dispatch.kernel_loops import LoopSources
from opwright.backends.dispatch.runtime_keys import key_names, key_text
from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS
from opwright.model.catalog import Catalog
from opwright.model.derivatives import node_prefix
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs
from opwright.source.items import split_items
from opwright.source.records import NamedTuple

_DOTTED: Final = re.compile(r"(?:torch\.ops\.)?([a-z_]\w*)\.(\w+(?:\.\w+)?)")
_DEFAULT: Final = ".default"


def plain_name(text: str, namespaces: Iterable[str]) -> str:
    """Name of an operator as schemas write it, from any form in which PyTorch prints it.

    A name of two parts may be that of an overload; `namespaces` tell.

    >>> [plain_name(text, ["aten"]) for text in ("torch.ops.aten.add.Tensor", "aten.relu.default", "add.out")]
    ['aten::add.Tensor', 'aten::relu', 'add.out']
    """
    match = _DOTTED.fullmatch(text)
    if match is not None and match[1] in namespaces and "::" not in text:
        text = f"{match[1]}::{match[2]}"
    return text.removesuffix(_DEFAULT)


def overloads_named(name: str, catalog: Catalog) -> Sequence[NativeFunction]:
    """Overload of a full name, else all overloads of the operator of that name.

    >>> import opwright
    >>> catalog = opwright.load()
    >>> [function.name.text for function in overloads_named("aten::sub", catalog)][:3]
    ['sub.out', 'sub.Tensor', 'sub.Scalar']
    """
    if name in catalog:
        return [catalog[name]]
    namespace, _, plain = name.rpartition("::")
    named = [function for function in catalog.functions if function.name.name == plain]
    return [function for function in named if not namespace or function.namespace == namespace]


def qualified_name(function: NativeFunction) -> str:
    """Name of an overload with its namespace."""
    return f"{function.namespace}::{function.name.text}"


#: The operator and the overload that an entry begins with.
ENTRY_NAME: Final = re.compile(r"(?:func|name): *([\w:]+)((?:\.\w+)?)")


class Resolution(NamedTuple):
    """What a name was taken for, in words, and the operators or overloads that it leads to.

    `node` is the autograd node whose operators alone are meant; empty for other names. `about` has sentences on what
    the name itself stands for, if operators alone do not tell.
    """

    taken_for: str
    operators: tuple[str, ...]
    node: str = ""
    about: str = ""


class Entries:
    """The names and the texts of the entries of a PyTorch."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs: Final = inputs

    @cached_property
    def texts(self) -> dict[str, str]:
        """Text of the entry of each overload, in order."""
        return self._texts(NATIVE_FUNCTIONS.inputs[0])

    @cached_property
    def formulas(self) -> dict[str, str]:
        """Text of the entry of each overload with formulas."""
        return self._texts(DERIVATIVES.inputs[0])

    def _texts(self, name: str) -> dict[str, str]:
        file = self._inputs.read_optional(name)
        if file is None:
            return {}
        return {match[1] + match[2]: text for _, text in split_items(file.text) if (match := ENTRY_NAME.match(text))}

    @cached_property
    def loops(self) -> LoopSources:
        """Functions with loops in the sources, if these are on this machine."""
        return LoopSources(self._inputs)

    @cached_property
    def operators(self) -> frozenset[str]:
        """Names without those of overloads."""
        return frozenset([name.partition(".")[0] for name in self.texts])

    @cached_property
    def by_symbol(self) -> dict[str, str]:
        """Overload by its name in C++ identifiers, such as `add_Tensor`."""
        return {name.replace(".", "_"): name for name in self.texts}

    def outs(self, operator: str) -> tuple[str, ...]:
        """Out overloads of an operator."""
        written = re.compile(rf"func: *{operator}\.\w*out\w*\(")
        return tuple([name for name, text in self.texts.items() if written.match(text)])


def resolve(text: str, entries: Entries) -> Resolution | None:
    """Operators that a name leads to; None if it is no such name.

    >>> from opwright.release.inputs import open_inputs
    >>> entries = Entries(open_inputs("auto"))
    >>> resolve("torch.linalg.inv", entries)
    Resolution(taken_for='a Python function', operators=('linalg_inv',), node='', about='')
    >>> resolve("at::_ops::add_Tensor::call", entries).operators
    ('add.Tensor',)
    """
    answers = (answer for reader in _READERS for answer in reader(text, entries))
    return next((answer for answer in answers if answer.operators or answer.about), None)


_METHOD: Final = re.compile(r"(?:torch\.)?(?:_C\.)?(?:Tensor|TensorBase|_TensorBase)\.(\w+)")
_PYTHON: Final = re.compile(r"(?:torch\.)?(?:_C\.)?(?:(nn\.functional|F|\w+)\.)?(\w+)")
#: Operators of these modules have the module's name as a prefix.
_PREFIXED: Final = ("fft", "linalg", "nested", "sparse", "special")


def _python(text: str, entries: Entries) -> Iterator[Resolution]:
    """Functions and methods of Python: `torch.add`, `F.relu`, `Tensor.add_`, `torch._C._nn.gelu`."""
    method = _METHOD.fullmatch(text)
    if method is not None:
        yield _named("a method of Python's tensors", entries, *_method_names(method[1]))
    function = _PYTHON.fullmatch(text)
    if function is not None and "." in text:
        module, name = (function[1] or "").lstrip("_"), function[2]
        names = [f"{module}_{name}", name] if module in _PREFIXED else [name]
        yield _named("a Python function", entries, *names)


def _method_names(name: str) -> list[str]:
    """Operators that a method may be: `__iadd__` is `add_`, where no operator has that name."""
    special = re.fullmatch(r"__(i?)(\w+?)__", name)
    if special is None:
        return [name]
    in_place = f"{special[2]}_" if special[1] else special[2]
    return [name, in_place, f"{special[1]}{special[2]}"]


_CPP: Final = re.compile(r"(?:at|torch)::(\w+)")
_CPP_METHOD: Final = re.compile(r"(?:at::)?Tensor::(\w+)")
_OPERATOR_CLASS: Final = re.compile(r"(?:at::)?_ops::(\w+?)(?:::\w+)?")
_SHIM: Final = re.compile(r"aoti_torch_[a-z]+_(\w+)")


def _cpp(text: str, entries: Entries) -> Iterator[Resolution]:
    """Functions and methods of C++, classes of operators, and C shims."""
    if match := _CPP.fullmatch(text):
        yield _function(match[1], entries)
    if match := _CPP_METHOD.fullmatch(text):
        yield _named("a method of C++'s tensors", entries, match[1])
    if match := _OPERATOR_CLASS.fullmatch(text):
        yield Resolution("the C++ class of an overload", _symbol(match[1], entries))
    if match := _SHIM.fullmatch(text):
        yield Resolution("a C shim", _symbol(match[1], entries))


def _function(name: str, entries: Entries) -> Resolution:
    """A function of the namespace `at`; those with the suffix `_out` or `_outf` are the out overloads."""
    if name in entries.operators:
        return Resolution("a C++ function", (name,))
    operator = re.sub(r"_outf?$", "", name)
    return Resolution("a C++ function", entries.outs(operator) if operator != name else ())


def _symbol(symbol: str, entries: Entries) -> tuple[str, ...]:
    name = entries.by_symbol.get(symbol)
    return (symbol,) if name is None and symbol in entries.operators else () if name is None else (name,)


_NODE: Final = re.compile(r"(?:torch::autograd::(?:generated::)?)?(\w+Backward)\d*")


def _node(text: str, entries: Entries) -> Iterator[Resolution]:
    """Autograd nodes, as `grad_fn` shows them: `AddmmBackward0`."""
    match = _NODE.fullmatch(text)
    if match is not None:
        prefix = match[1]
        names = [name for name in entries.formulas if node_prefix(name.partition(".")[0]) == prefix]
        yield Resolution("an autograd node", tuple(names), text.rpartition("::")[2])


_KERNEL: Final = re.compile(r"(?:at::native::)?(?:structured_)?(\w+?)(?:::(?:impl|meta))?")


def _kernel(text: str, entries: Entries) -> Iterator[Resolution]:
    """Kernels that entries name; without one, those with the name of the C++ function."""
    match = _KERNEL.fullmatch(text)
    if match is None:
        return
    value = re.compile(rf"(?m)^    [\w, ]+: *(?:\w+::)*{match[1]}\s*(?:#.*)?$")
    yield Resolution("a kernel", tuple([name for name, entry in entries.texts.items() if value.search(entry)]))
    if match[1] != text:
        yield _function(match[1], entries)._replace(taken_for="a kernel")


_LOOP: Final = re.compile(r"(?:at::native::)?(\w+?)(_(?:kernel|stub)(?:_(?:impl|cuda|mps))?)?")


def _loop(text: str, entries: Entries) -> Iterator[Resolution]:
    """Functions that have the loops of kernels: as PyTorch's sources register them; without sources, by their names."""
    match = _LOOP.fullmatch(text)
    if match is None:
        return
    loop = entries.loops.find(text.rpartition("::")[2])
    if loop is not None:
        operators = [
            operator
            for caller in loop.callers
            for loop_kernel in _kernel(f"at::native::{caller}", entries)
            for operator in loop_kernel.operators
        ]
        taken_for = f"the function of a loop, which {loop.place} registers for {loop.stub}"
        yield Resolution(taken_for, tuple(dict.fromkeys(operators)))
    if match[2]:
        yield _named("the function of a loop, by its name", entries, match[1])


def _helper(text: str, entries: Entries) -> Iterator[Resolution]:
    """Functions that formulas call: `mul_tensor_backward`."""
    name = text.rpartition("::")[2]
    if name.isidentifier():
        call = re.compile(rf"\b{name}\(")
        users = [operator for operator, entry in entries.formulas.items() if call.search(entry.partition("\n")[2])]
        yield Resolution("a function that formulas call", tuple(users))


def _tag(text: str, entries: Entries) -> Iterator[Resolution]:
    """Tags: `pointwise`, `torch.Tag.core`."""
    name = text.removeprefix("torch.").removeprefix("Tag.")
    if name.isidentifier():
        tagged = re.compile(rf"(?m)^  tags: *\[?(?:\w+, *)*{name}\b")
        yield Resolution("a tag", tuple([name for name, entry in entries.texts.items() if tagged.search(entry)]))


#: An entry without any of these has a kernel for CompositeImplicitAutograd.
_WITH_KERNELS: Final = re.compile(r"(?m)^  (?:dispatch|structured_delegate): ?")


def _key(text: str, entries: Entries) -> Iterator[Resolution]:
    """Dispatch keys: `CPU`, `torch._C.DispatchKey.CPU`, `c10::DispatchKey::CPU`."""
    name = re.split(r"\.|::", text)[-1]
    if name in key_names():
        keyed = re.compile(rf"(?m)^    (?:\w+, *)*{name}(?:, *\w+)*:")
        is_default = name == COMPOSITE_IMPLICIT.name
        operators = [
            operator
            for operator, entry in entries.texts.items()
            if keyed.search(entry) or (is_default and not _WITH_KERNELS.search(entry))
        ]
        yield Resolution("a dispatch key", tuple(operators), about=key_text(name))


def _named(taken_for: str, entries: Entries, *names: str) -> Resolution:
    """The first of these names that an operator has."""
    return Resolution(taken_for, tuple([name for name in names if name in entries.operators][:1]))


#: How names are read, in this order.
_READERS: Final[Sequence[Callable[[str, Entries], Iterator[Resolution]]]] = (
    _python,
    _cpp,
    _node,
    _kernel,
    _key,
    _tag,
    _helper,
    _loop,
)


_QUALIFIER: Final = re.compile(r"(?:\w+::)+|(?:torch|F|Tensor|nn)\.(?:\w+\.)*")
_OPERATOR_CLASS_LEAD: Final = re.compile(r"(?:at::)?_ops::")
_KERNELS: Final = re.compile(r"(?m)^    [\w, ]+: *(?:\w+::)*(\w+)")
_TAGS: Final = re.compile(r"(?m)^  tags: *(.*)$")
_SHIM_PREFIX: Final = "aoti_torch_cpu_"
_CALLS: Final = re.compile(r"\b([a-z_]\w+)\(")


def known_names(text: str, entries: Entries) -> frozenset[str]:
    """Names of about the same length that one which leads to nothing may have meant, qualified in the same way.

    >>> from opwright.release.inputs import open_inputs
    >>> known = known_names("at::native::ad_out", Entries(open_inputs("auto")))
    >>> [name in known for name in ("at::native::add_out", "at::native::addmm_out")]
    [True, False]
    """
    qualifier = _QUALIFIER.match(text)
    lead = "" if qualifier is None else qualifier[0]
    names = list(_unprefixed(lead, entries))
    if match := _OPERATOR_CLASS_LEAD.match(text):
        after = text[len(match[0]) :].partition("::")
        return frozenset([f"{match[0]}{symbol}{after[1]}{after[2]}" for symbol in entries.by_symbol])
    if "." not in lead:
        names += [f"{operator}_out" for operator in entries.operators]
        names += [f"{node_prefix(name.partition('.')[0])}0" for name in entries.formulas]
        kernels = [kernel for entry in entries.texts.values() for kernel in _KERNELS.findall(entry)]
        names += [*kernels, *[f"structured_{kernel}" for kernel in kernels], *entries.loops.names()]
        names += [name for entry in entries.formulas.values() for name in _CALLS.findall(entry.partition("\n")[2])]
    if not lead:
        names += [f"{operator}_{ending}" for operator in entries.operators for ending in ("kernel", "stub")]
        names += [f"structured_{operator}_out" for operator in entries.operators]
        names += [*entries.texts, *key_names(), *_tag_names(entries)]
    if text.startswith(_SHIM_PREFIX):
        names += [_SHIM_PREFIX + symbol for symbol in entries.by_symbol]
    most = max(1, len(text) // 10)
    return frozenset([lead + name for name in names if abs(len(lead) + len(name) - len(text)) <= most])


def _unprefixed(lead: str, entries: Entries) -> Iterator[str]:
    """Names of operators; in some modules of Python, of those with the module's prefix and without it."""
    module = lead.split(".")[-2] if "." in lead else ""
    prefix = f"{module}_" if module in _PREFIXED else ""
    return (name.removeprefix(prefix) for name in entries.operators if name.startswith(prefix))


def _tag_names(entries: Entries) -> Iterator[str]:
    for entry in entries.texts.values():
        if match := _TAGS.search(entry):
            yield from re.findall(r"\w+", match[1])
