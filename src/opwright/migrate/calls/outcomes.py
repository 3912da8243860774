"""Repeats stored calls in a process with a library, and keeps what each of them does.

A call is repeated as it is, with gradients and second gradients, with fake tensors, compiled, under `vmap` and under
autocast. An outcome is made of plain values and tensors, so that another process can compare it.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

from opwright.migrate.calls.recorder import module_name
from opwright.migrate.calls.stored_calls import DecodedCall, StoredRecord

_Torch: TypeAlias = Any
_Tensor: TypeAlias = Any
_Value: TypeAlias = Any
_Operator: TypeAlias = Any
#: What a call did, by what is compared.
CallOutcome: TypeAlias = "dict[str, Any]"

#: How many calls of an operator are compiled, and repeated under `vmap` and autocast. These take long.
COMPILED_CALLS: Final = 3
#: How many elements of a tensor are kept.
_MOST_ELEMENTS: Final = 1 << 16
#: What pybind11 calls a parameter without a name.
_UNNAMED: Final = re.compile(r"arg\d+")
#: What changes between processes in messages of errors.
_CHANGING: Final = re.compile(
    r'(?: at )?\S*\.(?:cpp|cu|cuh|h|hpp|py|cc)"?:\d+|0x[0-9a-f]+|\bCould not run .*', re.DOTALL
)
_TRACE: Final = re.compile(r"\s*(?:Exception raised from|C\+\+ CapturedTraceback).*", re.DOTALL)
#: What PyTorch says where its fallback for Autograd lets a backward pass go on without gradients.
_NOT_REGISTERED: Final = "autograd kernel was not registered"


def find_operator(torch: _Torch, name: str, modules: Sequence[str], namespaces: Sequence[str] = ()) -> _Operator | None:
    """The overload `acme::f.out`, or the function `acme._C.f` of a package of the modules; None if there is none.

    The port of such a function is an operator with the name of the module, or in one of these namespaces. Another
    module of the name, such as the original that is installed, is no port.
    """
    namespace, colons, rest = name.partition("::")
    if colons:
        operation, _, overload = rest.partition(".")
        return _attribute(torch.ops, f"{namespace}.{operation}.{overload or 'default'}")
    packages = {module_name(module).partition(".")[0] for module in modules}
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        module, inside = ".".join(parts[:count]), parts[count:]
        owner = sys.modules.get(module) if parts[0] in packages else None
        function = _attribute(owner, ".".join(inside))
        for namespace in (parts[count - 1], *namespaces):
            function = function or _attribute(torch.ops, f"{namespace}.{'_'.join(inside)}")
        if function is not None:
            return function
    return None


def _schema_of(operator: _Operator) -> Any:  # noqa: ANN401
    """The schema of an overload, or of an operator with one overload; None if it has several, or is no operator."""
    overloads: list[str] = operator.overloads() if hasattr(operator, "overloads") else []
    return getattr(getattr(operator, overloads[0]) if len(overloads) == 1 else operator, "_schema", None)


def documented_names(function: _Operator) -> list[str]:
    """The names of parameters that pybind11 writes into the documentation of a function, up to the first without one.

    >>> fill = lambda: None
    >>> fill.__doc__ = "fill(out: Tensor, by: list[int] = [1, 2], arg2: int) -> None"
    >>> documented_names(fill)
    ['out', 'by']
    """
    signature = str(getattr(function, "__doc__", None) or "").partition("\n")[0]
    inside, _, _ = signature.partition("(")[2].rpartition(")")
    names = []
    for part in inside.split(": ")[:-1]:
        name = part.rpartition(" ")[2]
        if not name.isidentifier() or _UNNAMED.fullmatch(name):
            break
        names.append(name)
    return names


def _attribute(owner: Any, path: str) -> Any:  # noqa: ANN401
    """What a path of names leads to from an object; None if there is nothing."""
    for name in path.split("."):
        owner = getattr(owner, name, None)
        if owner is None:
            break
    return owner


class Repeater:
    """Repeats the calls of operators that a process has."""

    def __init__(self, torch: _Torch, modules: Sequence[str], namespaces: Sequence[str] = ()) -> None:
        self.torch = torch
        self._modules = modules
        self._namespaces = namespaces
        self._trees = import_module("torch.utils._pytree")
        self._compiled: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._names: list[tuple[str, bool]] = []

    def outcome(self, record: StoredRecord, *, twice: bool) -> CallOutcome:
        """What a call does. Repeated twice, it also says whether its values are the same both times."""
        operator = find_operator(self.torch, record.operator, self._modules, self._namespaces)
        if operator is None:
            return {"missing": True}
        call = DecodedCall(self.torch, record.body)
        if not all(device in ("cpu", "meta") or self._has(device) for device in call.devices):
            return {"device": sorted(call.devices - {"cpu", "meta"})[0]}
        self._names = self._named_tensors(operator, call)
        given = operator, call
        outcome: CallOutcome = {"shown": self._shown(call), "eager": self._guarded(self._eager, *given)}
        if "error" in outcome["eager"]:
            return outcome
        if twice:
            outcome["again"] = self._guarded(self._eager, *given)
        outcome["fake"] = self._guarded(self._fake, *given)
        written = {number for number, row in enumerate(outcome["eager"]["written"]) if row[2]}
        if self._leaves(call.values()):
            outcome["gradients"] = self._guarded(self._gradients, *given, written)
        if record.alike not in self._seen and self._compiled[record.operator] < COMPILED_CALLS:
            self._seen.add(record.alike)
            self._compiled[record.operator] += 1
            outcome["compiled"] = self._guarded(self._compile, *given)
            outcome["vmap"] = self._guarded(self._vmap, *given)
            if self._leaves(call.values()):
                outcome["autocast"] = self._guarded(self._autocast, *given)
                outcome["tangents"] = self._guarded(self._tangents, *given)
        return outcome

    def _has(self, device: str) -> bool:
        module = getattr(self.torch, device, None)
        return bool(module is not None and module.is_available())

    def _tensors(self, values: _Value) -> list[_Tensor]:
        return [leaf for leaf in self._trees.tree_leaves(values) if isinstance(leaf, self.torch.Tensor)]

    def _leaves(self, values: _Value) -> list[_Tensor]:
        """The tensors of a call that may have gradients."""
        return [tensor for tensor in self._tensors(values) if _is_real(tensor)]

    def _guarded(self, run: Callable[..., CallOutcome], *values: _Value) -> CallOutcome:
        """What a function gives, or the error that it raises."""
        self.torch.manual_seed(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return run(*values)
        except Exception as error:
            return {"error": [type(error).__name__, _message(error)]}

    def _eager(self, operator: _Operator, call: DecodedCall) -> CallOutcome:
        given, named = call.values()
        with self.torch.no_grad():
            return self._done(lambda: operator(*given, **named), self._tensors((given, named)))

    def _done(self, run: Callable[[], _Value], tensors: Sequence[_Tensor]) -> CallOutcome:
        """What a call returns and writes, and what shares memory."""
        overlaps = self.torch._debug_has_internal_overlap
        shared = [self._is_strided(tensor) and overlaps(tensor) == 1 for tensor in tensors]
        before = [(tensor._version, self._bytes(tensor), self._form(tensor)) for tensor in tensors]
        results = run()
        written = []
        rows = zip(self._names, tensors, before, shared, strict=True)
        for (name, is_declared), tensor, (version, bytes_before, form), is_shared in rows:
            is_changed = form != self._form(tensor) or not self.torch.equal(bytes_before, self._bytes(tensor))
            counts, data = tensor._version > version, self._kept(tensor) if is_changed else None
            written.append([name, counts, is_changed, is_declared, data, bytes_before.numel(), is_shared])
        leaves = self._tensors(results)
        names = [name for name, _ in self._names]
        aliases: list[list[Any]] = []
        for number, leaf in enumerate(leaves):
            others = [*zip(names, tensors, strict=True), *enumerate(leaves[:number])]
            aliases += [[number, at, leaf is other] for at, other in others if self._share(leaf, other)]
        return {"results": self._tree(results), "written": written, "aliases": aliases}

    def _named_tensors(self, operator: _Operator, call: DecodedCall) -> list[tuple[str, bool]]:
        """The argument that each tensor of a call is given for, and whether the schema says that it is written."""
        given, named = call.values()
        schema = _schema_of(operator)
        arguments = schema.arguments if schema is not None else ()
        # The operator in the place of a function of a module has the names of this, so that both sides have one.
        known_names = [each.name for each in arguments] if hasattr(operator, "_schema") else documented_names(operator)
        names = [*known_names, *[f"argument {number}" for number in range(len(known_names), len(given))]]
        written = [argument.alias_info is not None and argument.alias_info.is_write for argument in arguments]
        by_name = {argument.name: is_write for argument, is_write in zip(arguments, written, strict=True)}
        rows = []
        for number, (name, value) in enumerate(zip(names, given, strict=False)):
            rows += [(name, number < len(written) and written[number])] * len(self._tensors(value))
        for name, value in named.items():
            rows += [(name, by_name.get(name, False))] * len(self._tensors(value))
        return rows

    def _share(self, left: _Tensor, right: _Tensor) -> bool:
        if left is right:
            return True
        try:
            first, second = left.untyped_storage(), right.untyped_storage()
        except (RuntimeError, NotImplementedError):
            return False
        return bool(first.nbytes() and first._cdata == second._cdata)

    def _form(self, tensor: _Tensor) -> list[Any]:
        """What a call may change of a tensor beside its bytes: sizes and strides."""
        strides = tensor.stride() if self._is_strided(tensor) else ()
        return [[int(number) for number in numbers] for numbers in (tensor.shape, strides)]

    def _is_strided(self, tensor: _Tensor) -> bool:
        return tensor.layout is self.torch.strided

    def _bytes(self, tensor: _Tensor) -> _Tensor:
        """A copy of what a tensor has."""
        torch = self.torch
        if tensor.device.type == "meta" or not tensor.numel():
            return torch.empty(0, dtype=torch.uint8)
        data = tensor.detach().resolve_conj().resolve_neg().contiguous()
        return data.reshape(-1).view(torch.uint8).clone().cpu()

    def _kept(self, tensor: _Tensor, *, values: bool = True) -> list[Any]:
        """What is kept of a tensor: dtype, sizes, strides, device, and its values, or some of them and sums."""
        torch = self.torch
        views = (("conjugate of ", tensor.is_conj()), ("negative of ", tensor.is_neg()))
        dtype = "".join([word for word, is_so in views if is_so]) + str(tensor.dtype).removeprefix("torch.")
        what: list[Any] = ["tensor", dtype, [int(size) for size in tensor.shape]]
        if tensor.layout is not torch.strided or tensor.is_quantized:
            dense = tensor.int_repr() if tensor.is_quantized else tensor.to_dense()
            return [*what, [], tensor.device.type, self._kept(dense)]
        what += [[int(stride) for stride in tensor.stride()], tensor.device.type]
        if not values or tensor.device.type == "meta":
            return [*what, None]
        flat = tensor.detach().resolve_conj().resolve_neg().cpu().reshape(-1).clone()
        if flat.numel() <= _MOST_ELEMENTS:
            return [*what, flat]
        wide = flat.to(torch.complex128 if flat.is_complex() else torch.float64)
        step = -(-flat.numel() // _MOST_ELEMENTS)
        return [*what, torch.cat([wide[::step], wide.sum().reshape(1), wide.abs().sum().reshape(1)])]

    def _tree(self, value: _Value, *, values: bool = True) -> list[Any]:
        """Results as plain values."""
        if isinstance(value, self.torch.Tensor):
            return self._kept(value, values=values)
        if isinstance(value, dict):
            value = [*value.items()]
        if isinstance(value, (list, tuple)):
            return ["list", [self._tree(part, values=values) for part in value]]
        if value is None or isinstance(value, (bool, int, float, str)):
            return ["plain", value]
        return ["other", type(value).__name__, repr(value)[:200]]

    def _gradients(self, operator: _Operator, call: DecodedCall, written: set[int]) -> CallOutcome:
        torch = self.torch
        given, named = call.values()
        leaves: list[_Tensor] = []
        passed: dict[int, _Tensor] = {}
        numbers = {id(tensor): number for number, tensor in enumerate(self._tensors((given, named)))}

        def with_gradient(value: _Value) -> _Value:
            if not isinstance(value, torch.Tensor) or not _is_real(value):
                return value
            if id(value) not in passed:
                leaves.append(value.detach().requires_grad_())
                # What requires gradients itself cannot be written.
                is_written = numbers[id(value)] in written
                passed[id(value)] = leaves[-1] * 1 if is_written else leaves[-1]
            return passed[id(value)]

        given, named = self._trees.tree_map(with_gradient, (given, named))
        results: list[_Value] = []

        def call_operator() -> _Value:
            results.append(operator(*given, **named))
            return results[0]

        written_tensors = [(tensor, tensor.grad_fn) for tensor in passed.values() if tensor.grad_fn is not None]
        outcome = self._done(call_operator, self._tensors((given, named)))
        outcome["views"] = [bool(leaf._is_view()) for leaf in self._tensors(results)]
        # What is written has a gradient from before the call.
        new = [leaf for leaf in self._leaves(results) if all(leaf is not tensor for tensor, _ in written_tensors)]
        changed = [tensor for tensor, node in written_tensors if tensor.grad_fn is not node]
        outcome["through"] = bool(changed) or any(leaf.requires_grad for leaf in new)
        outputs = [*self._leaves(results), *[tensor for tensor in passed.values() if tensor.grad_fn is not None]]
        outputs = list({id(tensor): tensor for tensor in outputs}.values())
        return self._with_gradients(outcome, [tensor for tensor in outputs if tensor.requires_grad], leaves)

    def _with_gradients(
        self, outcome: CallOutcome, outputs: Sequence[_Tensor], leaves: Sequence[_Tensor]
    ) -> CallOutcome:
        torch = self.torch
        if not outputs:
            return outcome
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                seeds = [self._seed(tensor) for tensor in outputs]
                gradients = torch.autograd.grad(outputs, leaves, seeds, allow_unused=True, create_graph=True)
            except Exception as error:
                outcome["first"] = {"error": [type(error).__name__, _message(error)]}
                return outcome
            finally:
                outcome["warned"] = any(_NOT_REGISTERED in str(warning.message) for warning in told)
        outcome["first"] = {"results": self._tree(gradients)}
        again = [gradient for gradient in gradients if gradient is not None and gradient.requires_grad]
        if again:
            outcome["second"] = self._guarded(self._second, again, leaves)
        return outcome

    def _tangents(self, operator: _Operator, call: DecodedCall) -> CallOutcome:
        """The derivatives of forward mode, of what a call returns."""
        forward = import_module("torch.autograd.forward_ad")
        given, named = call.values()
        leaves = {id(tensor) for tensor in self._leaves((given, named))}
        with self.torch.no_grad(), forward.dual_level():
            given, named = self._trees.tree_map(
                lambda value: forward.make_dual(value, self._seed(value)) if id(value) in leaves else value,
                (given, named),
            )
            results = self._leaves(operator(*given, **named))
            return {"results": self._tree([forward.unpack_dual(tensor).tangent for tensor in results])}

    def _second(self, outputs: Sequence[_Tensor], leaves: Sequence[_Tensor]) -> CallOutcome:
        seeds = [self._seed(tensor) for tensor in outputs]
        return {"results": self._tree(self.torch.autograd.grad(outputs, leaves, seeds, allow_unused=True))}

    def _seed(self, tensor: _Tensor) -> _Tensor:
        """A gradient that is the same in each process."""
        torch = self.torch
        values = torch.linspace(0.5, 1.5, max(tensor.numel(), 1), dtype=torch.float64)[: tensor.numel()]
        return values.reshape(tensor.shape).to(device=tensor.device, dtype=tensor.dtype)

    def _fake(self, operator: _Operator, call: DecodedCall) -> CallOutcome:
        """What a trace knows of the results."""
        mode = import_module("torch._subclasses.fake_tensor").FakeTensorMode()
        given, named = call.values()
        fakes: dict[int, _Tensor] = {}

        def fake(value: _Value) -> _Value:
            if not isinstance(value, self.torch.Tensor):
                return value
            if id(value) not in fakes:
                fakes[id(value)] = mode.from_tensor(value)
            return fakes[id(value)]

        given, named = self._trees.tree_map(fake, (given, named))
        with mode, self.torch.no_grad():
            return {"results": self._tree(operator(*given, **named), values=False)}

    def _compile(self, operator: _Operator, call: DecodedCall) -> CallOutcome:
        torch = self.torch
        torch._dynamo.reset()
        given, named = call.values()
        compiled = torch.compile(
            lambda given, named: operator(*given, **named), backend="aot_eager", fullgraph=True, dynamic=False
        )
        with torch.no_grad():
            return self._done(lambda: compiled(given, named), self._tensors((given, named)))

    def _vmap(self, operator: _Operator, call: DecodedCall) -> CallOutcome:
        torch = self.torch
        leaves, form = self._trees.tree_flatten(call.values())
        places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def one(*tensors: _Tensor) -> _Value:
            for at, tensor in zip(places, tensors, strict=True):
                leaves[at] = tensor
            own_given, own_named = self._trees.tree_unflatten(leaves, form)
            return operator(*own_given, **own_named)

        # Integers may be positions, which kernels do not check.
        given = [leaves[at] for at in places]
        batched = [torch.stack([leaf, leaf.flip(0) if leaf.dim() and _is_real(leaf) else leaf]) for leaf in given]
        with torch.no_grad():
            return {"results": self._tree(torch.vmap(one)(*batched))} if batched else {}

    def _autocast(self, operator: _Operator, call: DecodedCall) -> CallOutcome:
        given, named = call.values()
        (device, *_) = [tensor.device.type for tensor in self._tensors((given, named))]
        with self.torch.no_grad(), self.torch.autocast(device, dtype=self.torch.bfloat16):
            return {"results": self._tree(operator(*given, **named))}

    def _shown(self, call: DecodedCall) -> str:
        """The arguments of a call in one line."""
        given, named = call.values()
        parts = [*map(self._word, given), *[f"{name}={self._word(value)}" for name, value in named.items()]]
        return ", ".join(parts)[:200]

    def _word(self, value: _Value) -> str:
        if isinstance(value, self.torch.Tensor):
            return f"{str(value.dtype).removeprefix('torch.')}{[*value.shape]}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(self._word, value))}]"
        return repr(value)


def _is_real(tensor: _Tensor) -> bool:
    """Whether a tensor has real or complex numbers, which have gradients."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _message(error: Exception) -> str:
    """The text of an error, without what changes between processes and builds.

    >>> _message(RuntimeError('n > 0 INTERNAL ASSERT FAILED at "csrc/ops.cpp":147, please report a bug to PyTorch.'))
    'n > 0 INTERNAL ASSERT FAILED, please report a bug to PyTorch.'
    """
    return _CHANGING.sub("", _TRACE.sub("", str(error))).strip()[:2000]


def repeat_calls(
    repeater: Repeater, records: Sequence[StoredRecord], first: int, path: str, *, twice: bool
) -> Iterator[int]:
    """Append the outcome of each call from a number on to a file, and give the number before it is repeated."""
    with open(path, "ab") as stream:
        for number, record in enumerate(records):
            if number < first:
                continue
            yield number
            try:
                outcome = repeater.outcome(record, twice=twice)
            except Exception as error:
                outcome = {"damaged": f"{type(error).__name__}: {error}"}
            data = io.BytesIO()
            repeater.torch.save(outcome, data)
            body = data.getvalue()
            stream.write(json.dumps([number, len(body)]).encode() + b"\n" + body)
            stream.flush()


def read_outcomes(torch: _Torch, path: str) -> dict[int, CallOutcome]:
    """The outcomes of a file by the numbers of calls."""
    outcomes: dict[int, CallOutcome] = {}
    with open(path, "rb") as stream:
        while line := stream.readline(999):
            number, size, *ended = json.loads(line)
            body = stream.read(size)
            outcomes[number] = {"ended": ended[0]} if ended else torch.load(io.BytesIO(body), weights_only=True)
    return outcomes


def last_outcome(path: str) -> int:
    """The number of the last call with a whole outcome, -1 if there is none; half an outcome behind it is cut off."""
    last, end = -1, 0
    if not os.path.exists(path):
        return last
    with open(path, "r+b") as stream:
        length = os.fstat(stream.fileno()).st_size
        while line := stream.readline(999):
            if not line.endswith(b"\n") or stream.tell() + json.loads(line)[1] > length:
                break
            number, size, *_ = json.loads(line)
            stream.seek(size, os.SEEK_CUR)
            last, end = number, stream.tell()
        stream.truncate(end)
    return last


def add_end(path: str, number: int, reason: str) -> None:
    """Append that a call ended the process that repeated it."""
    with open(path, "ab") as stream:
        stream.write(json.dumps([number, 0, reason]).encode() + b"\n")
