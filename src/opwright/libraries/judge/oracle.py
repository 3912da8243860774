"""Program that makes the tensors of calls, and knows what is right. It never loads a candidate.

`python -m opwright.libraries.judge.oracle DESCRIPTOR` serves the socket with that number.
"""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from opwright.libraries.judge.expressions import argument_expression
from opwright.libraries.judge.tensor_files import Placing, Unreadable, read_rows, read_tensor, tensor_bytes
from opwright.libraries.judge.worker.confinement import hide_memory
from opwright.libraries.judge.worker.protocol import JsonMessage, Tensor, Torch, receive, send

#: How long the reference may take for a call, with what finds out how exact it is.
_SECONDS: Final = 6.0


class _Case:
    """A call: the values of its arguments, by name, and the truth about it once it is known."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values: Final = values
        self.truth: Any = None
        self.layout: list[list[int]] = []
        self.placing: Placing | None = None
        self.accepted: set[bytes] = set()


class Oracle:
    """The calls of one entry, and the truth about them."""

    def __init__(self, facts: JsonMessage) -> None:
        self._torch: Final[Torch] = import_module("torch")
        self._tree: Final[Any] = import_module("torch.utils._pytree")
        self._facts: Final = facts
        self._engine: Final[dict[str, Any]] = {"__name__": "opwright_engine"}
        exec(compile(facts["engine"], "<engine>", "exec"), self._engine)
        self._judge: Final[dict[str, Any]] = {}
        if facts["check"]:
            exec(compile(facts["check"], "<checks>", "exec"), self._judge)
            # `torch._check` imports what traces need, which takes longer than all calls of some kernels.
            self._judge["_torch"] = SimpleNamespace(**{**vars(self._torch), "_check": _expect})
        module, _, name = facts["reference"].partition(":")
        self._reference: Final[Callable[..., Any]] = getattr(_imported(module, facts["folders"]), name)
        self._arguments: Final[list[JsonMessage]] = facts["arguments"]
        self._written: Final = [argument["name"] for argument in self._arguments if argument["written"]]
        self._cases: Final[list[_Case]] = []
        self._drawn: Final[dict[str, JsonMessage]] = {}
        self._torch.set_num_threads(1)

    # Arguments

    def do_draw(self, message: JsonMessage) -> JsonMessage:
        """Make a call, unless the entry refuses it or nothing is known of it. Gives its number.

        Candidates that are judged with the same seed get the same calls.
        """
        key = json.dumps(message, sort_keys=True)
        if key not in self._drawn:
            self._drawn[key] = self._draw(message)
        return self._drawn[key]

    def _draw(self, message: JsonMessage) -> JsonMessage:
        try:
            values, script = self._values(message)
        except Exception as error:
            return {"unusable": f"the arguments cannot be made: {type(error).__name__}: {error}"}
        for name, layouts in self._facts["copied"].items() if message["form"] == "function" else ():
            values[name] = self._map(partial(_copied, layouts), values[name])
        case = _Case(values)
        refusal = self._refusal(values)
        if refusal and not message.get("wrong"):
            return {"refused": refusal}
        if refusal:
            self._cases.append(case)
            text = {"text": self._text(values), "script": script}
            return {"case": len(self._cases) - 1, "refused": refusal, **text}
        if not message.get("wrong"):
            try:
                with self._torch.no_grad(), _time_limit(_SECONDS):
                    case.truth = self._truth_of(self._compute(case), values)
            except _TooSlow as error:
                return {"unusable": f"the reference is too slow: {error}", "is_slow": True}
            except Exception as error:
                return {"unusable": f"the reference raises {type(error).__name__}: {str(error)[:300]}"}
        self._cases.append(case)
        return {"case": len(self._cases) - 1, "text": self._text(values), "script": script, **self._shape_of(case)}

    def _values(self, message: JsonMessage) -> tuple[dict[str, Any], str]:
        """The values of the arguments, and the Python text that makes them."""
        torch = self._torch
        names = [argument["name"] for argument in self._arguments]
        defaults = {argument["name"]: argument.get("default") for argument in self._arguments}
        space = {"torch": torch, "math": math}
        if "generator" in message:
            call = self._engine["generated"](message["generator"], message["seed"])
            module, _, function = message["generator"].partition(":")
            made_by = f"importlib.import_module({module!r}).{function}({message['seed']})"
            text = f"*{made_by}[0], **{made_by}[1]" if call.kwargs else f"*{made_by}"
            return {**defaults, **dict(zip(names, call.args, strict=False)), **call.kwargs}, text
        if "author" in message:
            torch.manual_seed(message["seed"])
            cast = ""
            given, named = eval(f"(lambda *given, **named: (given, named))({message['author']}\n)", space)
            values = {**defaults, **dict(zip(names, given, strict=False)), **named}
            if message.get("dtype"):
                dtype = getattr(torch, message["dtype"])
                cast = f" (in {message['dtype']})"
                values = {
                    name: self._map(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor, value)
                    for name, value in values.items()
                }
            return values, f"{message['author'].strip()}  # after torch.manual_seed({message['seed']}){cast}"
        layouts = message.get("layouts", {})
        texts = {name: repr(value) for name, value in defaults.items()}
        for name, spec in message["values"].items():
            texts[name] = argument_expression(spec, layouts.get(name, ""))
        values = {name: eval(texts[name], space) for name in names}
        for name, wanted in self._facts["copied"].items() if message["form"] == "function" else ():
            # Kernels behind generated code get copies.
            if isinstance(values[name], torch.Tensor) and not any(_has_layout(values[name], other) for other in wanted):
                texts[name] += (
                    ".contiguous(memory_format=torch.channels_last)"
                    if wanted[0] == "channels_last"
                    else ".contiguous()"
                )
        parts = [
            f"{argument['name']}={texts[argument['name']]}" if argument["keyword"] else texts[argument["name"]]
            for argument in self._arguments
        ]
        return values, ", ".join(parts)

    def _map(self, change: Callable[[Tensor], Tensor], value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, list):
            return [self._map(change, item) for item in value]
        return change(value) if isinstance(value, self._torch.Tensor) else value

    def _refusal(self, values: dict[str, Any]) -> str:
        """The message of the entry for a call that it does not take."""
        check = self._judge.get("_check")
        if check is None:
            return ""
        try:
            _with_arguments(check, self._arguments, values)
        except Exception as error:
            return str(error) or type(error).__name__
        return ""

    # The truth

    def _compute(self, case: _Case) -> Callable[[Any], list[Tensor]]:
        """The reference as a function of calls that gives tensors, one after the other."""

        def compute(call: Any) -> list[Tensor]:  # noqa: ANN401
            names = list(case.values)
            copies = self._tree.tree_map_only(self._torch.Tensor, lambda tensor: tensor.clone(), call)
            values = dict(zip(names, copies.args, strict=True))
            results = self._call_reference(values)
            listed = list(results) if isinstance(results, tuple) else [] if results is None else [results]
            case.layout = [[len(item)] if isinstance(item, (list, tuple)) else [] for item in listed]
            leaves = [leaf for item in listed for leaf in (item if isinstance(item, (list, tuple)) else [item])]
            return [leaf for leaf in leaves if isinstance(leaf, self._torch.Tensor)]

        return compute

    def _call_reference(self, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
        taken = [argument for argument in self._arguments if not argument["unread"]]
        return _with_arguments(self._reference, taken, values)

    def _truth_of(self, function: Callable[[Any], list[Tensor]], values: Mapping[str, Any]) -> Any:  # noqa: ANN401
        return self._engine["truth_of"](function, self._engine["Call"](tuple(values.values()), {}))

    def _shape_of(self, case: _Case) -> JsonMessage:
        return {
            "zeros": self._engine["passes_as_zeros"](case.truth) if case.truth is not None else [],
            "elements": max([tensor.numel() for tensor in self._tensors(case.values)], default=0),
            "is_full": all(tensor.numel() for tensor in self._tensors(case.values)),
            "results": sum([result.numel() for result in case.truth.exact]) if case.truth is not None else 0,
            "is_finite": case.truth is None or all(bool(result.isfinite().all()) for result in case.truth.exact),
        }

    def _tensors(self, values: Mapping[str, Any]) -> list[Tensor]:
        leaves = self._tree.tree_flatten(list(values.values()))[0]
        return [leaf for leaf in leaves if isinstance(leaf, self._torch.Tensor)]

    def _text(self, values: Mapping[str, Any]) -> str:
        """What a call is, in a line."""
        return ", ".join([f"{name}={self._shown(value)}" for name, value in values.items()])

    def _shown(self, value: Any) -> str:  # noqa: ANN401
        if isinstance(value, list):
            return f"[{', '.join(map(self._shown, value))}]"
        if not isinstance(value, self._torch.Tensor):
            return repr(value)
        strides = "" if value.is_contiguous() else f" with strides {list(value.stride())}"
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{strides}"

    # Memory

    def do_place(self, message: JsonMessage) -> JsonMessage:
        """Write the tensors of a call into two open files, and say where they are."""
        case = self._cases[message["case"]]
        placing = Placing(case.values, self._written, message["side"], self._facts["alignment"])
        case.placing = placing
        placing.write(message["files"])
        names = [argument["name"] for argument in self._arguments if not argument["keyword"]]
        return {
            "segments": placing.segments,
            "tensors": placing.tensors,
            "positional": [placing.specs[name] for name in names],
            "named": {name: spec for name, spec in placing.specs.items() if name not in names},
        }

    # What was found

    def do_check(self, message: JsonMessage) -> JsonMessage:
        """What is wrong with the results of a call, and with the arguments that it wrote."""
        case = self._cases[message["case"]]
        rows, (file, own_file) = read_rows(message["results"]), message["files"]
        written, fault = self._written_values(case, own_file)
        if fault:
            return {"fault": fault, "check": "memory"}
        tensors = []
        if not rows and all(self._facts["returns"]):
            rows = [[]] * len(self._facts["returns"])
        if len(rows) != len(self._facts["returns"]):
            return {"fault": f"there are {len(rows)} results, and the schema has {len(self._facts['returns'])}"}
        results = [row for row, is_argument in zip(rows, self._facts["returns"], strict=True) if not is_argument]
        for row, own in zip(results, case.layout, strict=False):
            if own and own[0] != len(row):
                return {"fault": f"a list of results has {len(row)} tensors, and {own[0]} are right"}
            tensors += [read_tensor(fact, file) for fact in row]
        tensors += written
        key = b"".join([str((tensor.dtype, tensor.shape)).encode() + tensor_bytes(tensor) for tensor in tensors])
        digest = sha256(key).hexdigest()[:16]
        if key in case.accepted:
            return {"fault": "", "digest": digest}
        answer = self._fault(tensors, case.truth)
        if not answer["fault"]:
            case.accepted.add(key)
        return {**answer, "digest": digest}

    def _fault(self, tensors: Sequence[Tensor], truth: Any, tolerance: float = 0) -> JsonMessage:  # noqa: ANN401
        """What is wrong with tensors beside the truth: a sentence, and the first wrong number with what is allowed."""
        torch = self._torch
        dtypes = [str(tensor.dtype).removeprefix("torch.") for tensor in tensors]
        tolerance = max([tolerance, *[self._facts["tolerances"].get(dtype, 0) for dtype in dtypes]])
        pairs = zip(tensors, truth.exact, truth.rounded, strict=False)
        eased = [_eased(torch, value, exact, rounded) for value, exact, rounded in pairs]
        eased += tensors[len(eased) :]
        text = self._engine["fault_of"](eased, truth, tolerance)
        answer: JsonMessage = {"fault": text}
        for place, value in enumerate(eased if text else ()):
            if place >= len(truth.exact) or value.shape != truth.exact[place].shape:
                break
            if value.dtype != truth.rounded[place].dtype:
                break
            wrong, limit = self._engine["wrong_elements"](value, place, truth, tolerance)
            if wrong.any():
                where = tuple(wrong.nonzero()[0].tolist())
                right = truth.rounded if limit is None else truth.exact
                answer |= {"result": place, "index": list(where), "found": repr(tensors[place][where].item())}
                answer |= {"expected": repr(right[place][where].item())}
                answer |= {"allowed": 0.0 if limit is None else limit[where].item()}
                break
        return answer

    def _written_values(self, case: _Case, file: int) -> tuple[list[Tensor], str]:
        """The new values of written arguments; a fault if memory beside them changed."""
        assert case.placing is not None
        tensors = [tensor for name in self._written for tensor in self._tensors({name: case.values[name]})]
        return case.placing.written_values(tensors, file)

    def do_stack(self, message: JsonMessage) -> JsonMessage:
        """Two calls as one with another first dimension of all tensors."""
        torch = self._torch
        cases = [self._cases[number] for number in message["cases"]]

        def stacked(values: Sequence[Any]) -> Any:  # noqa: ANN401
            if isinstance(values[0], list):
                return [stacked(parts) for parts in zip(*values, strict=True)]
            return torch.stack(list(values)) if isinstance(values[0], torch.Tensor) else values[0]

        try:
            case = _Case({name: stacked([other.values[name] for other in cases]) for name in cases[0].values})
            truths = [other.truth for other in cases]
            parts = [
                [torch.stack(pair) for pair in zip(*lists, strict=True)]
                for lists in zip(*[t[:3] for t in truths], strict=True)
            ]
        except (RuntimeError, ValueError, TypeError) as error:
            return {"unusable": f"two calls have other sizes: {error}"}
        case.truth, case.layout = type(truths[0])(*parts, truths[0].reach), cases[0].layout
        self._cases.append(case)
        return {"case": len(self._cases) - 1}

    # Rows, batches, gradients

    def do_rows(self, message: JsonMessage) -> JsonMessage:
        """What is wrong with parts of the results of a call, beside what is right for each part of the batch alone."""
        torch = self._torch
        case = self._cases[message["case"]]
        (file,) = message["files"]
        facts = [fact for row in read_rows(message["results"]) for fact in row]
        count = message["count"]
        tensors = [read_tensor(fact, file) for fact in facts]
        for row in message["rows"]:
            values = {
                name: value.select(message["arguments"][name], row) if name in message["arguments"] else value
                for name, value in case.values.items()
            }
            single = _Case(values)
            with torch.no_grad():
                truth = self._truth_of(self._compute(single), values)
            parts = [
                value if place is None else value.select(place, row)
                for value, place in zip(tensors, message["places"], strict=True)
            ]
            answer = self._fault(parts, truth)
            if answer["fault"]:
                return {**answer, "fault": f"element {row} of {count} of the batch, alone: {answer['fault']}"}
        return {"fault": ""}

    def do_gradient(self, message: JsonMessage) -> JsonMessage:
        """What is wrong with gradients, and second gradients, of some arguments."""
        case = self._cases[message["case"]]
        torch = self._torch
        names = list(case.values)
        wanted = message["names"]
        second = message["second"]

        def gradients(call: Any) -> list[Tensor]:  # noqa: ANN401
            values = dict(zip(names, call.args, strict=True))
            leaves = []
            for name in wanted:
                values[name] = self._map(lambda tensor: tensor.detach().clone().requires_grad_(), values[name])
                leaves += self._tensors({name: values[name]})
            with torch.enable_grad():
                results = [
                    result
                    for result in self._tree.tree_flatten(self._call_reference(values))[0]
                    if isinstance(result, torch.Tensor) and result.requires_grad
                ]
                if not results:
                    raise ValueError("the reference has no gradient")
                first = _gradients(torch, results, leaves, create=second)
                if not second:
                    return [value.detach() for value in first]
                again = [value for value in first if value.requires_grad]
                more = _gradients(torch, again, leaves, create=False) if again else map(torch.zeros_like, leaves)
                return [value.detach() for value in (*first, *more)]

        try:
            truth = self._truth_of(gradients, case.values)
        except Exception as error:
            return {"unusable": str(error)}
        if "results" not in message:
            return {}
        (file,) = message["files"]
        tensors = [read_tensor(fact, file) for row in read_rows(message["results"]) for fact in row]
        return self._fault(tensors, truth, max([0, *self._facts["tolerances"].values()]))


def _with_arguments(function: Callable[..., Any], arguments: Sequence[JsonMessage], values: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """What a function gives for some arguments, by place and by name."""
    positional = [values[argument["name"]] for argument in arguments if not argument["keyword"]]
    named = {argument["name"]: values[argument["name"]] for argument in arguments if argument["keyword"]}
    return function(*positional, **named)


def _expect(condition: bool, text: Callable[[], str]) -> None:
    """Refuse a call with a text, unless a condition holds."""
    if not condition:
        raise RuntimeError(text())


class _TooSlow(BaseException):
    """Raised in what takes too long, through all that goes on after errors."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise in what takes longer on processors: how busy the machine is says nothing of the reference."""

    def stop(_number: int, _frame: object) -> None:
        raise _TooSlow(f"it takes more than {seconds:g} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _gradients(torch: Torch, results: list[Tensor], leaves: list[Tensor], *, create: bool) -> list[Tensor]:
    """The gradients for the weights that workers use."""
    weights = [(torch.arange(result.numel()) % 7 + 1).reshape(result.shape).to(result.dtype) / 4 for result in results]
    gradients = torch.autograd.grad(results, leaves, weights, allow_unused=True, create_graph=create)
    return [torch.zeros_like(leaf) if value is None else value for leaf, value in zip(leaves, gradients, strict=True)]


def _eased(torch: Torch, value: Tensor, exact: Tensor, rounded: Tensor) -> Tensor:
    """The result, where a number that is not finite stands for any other such one: NaN and infinities mix in sums."""
    if not value.is_floating_point() or value.shape != exact.shape or value.dtype != rounded.dtype:
        return value
    is_other = ~exact.isfinite() & ~rounded.isfinite() & ~value.isfinite()
    return torch.where(is_other, rounded, value)


def _copied(layouts: Sequence[str], tensor: Tensor) -> Tensor:
    """What a kernel gets where its entry asks for one of some layouts."""
    if any(_has_layout(tensor, layout) for layout in layouts):
        return tensor
    return tensor.contiguous(**_format(layouts[0]))


def _has_layout(tensor: Tensor, layout: str) -> bool:
    if layout == "last_contiguous" and tensor.dim():
        return bool(tensor.stride(-1) == 1 or tensor.shape[-1] == 1)
    return bool(tensor.is_contiguous(**_format(layout)))


def _format(layout: str) -> dict[str, Any]:
    return {"memory_format": import_module("torch").channels_last} if layout == "channels_last" else {}


def _imported(module: str, folders: Sequence[str]) -> ModuleType:
    """A module that is looked for in some folders first. What PyTorch imports later is not looked for there first."""
    before = [*sys.path]
    sys.path[:0] = folders
    try:
        return import_module(module)
    finally:
        sys.path[:] = [*before, *folders]


def serve(connection: socket.socket) -> None:
    """Answer messages about one entry after the other."""
    oracle: Oracle | None = None
    facts_of_entry: JsonMessage = {}
    while (received := receive(connection)) is not None:
        message, files = received
        message |= {"files": files} if files else {}
        try:
            if message["do"] == "entry":
                if message != facts_of_entry:
                    oracle, facts_of_entry = Oracle(message), message
                answer = {}
            else:
                answer = getattr(oracle, f"do_{message['do']}")(message)
        except Unreadable as error:
            answer = {"fault": str(error)}
        except Exception as error:
            answer = {"error": type(error).__name__, "text": str(error)}
        finally:
            for file in files:
                os.close(file)
        send(connection, answer)


if __name__ == "__main__":
    hide_memory()
    serve(socket.socket(fileno=int(sys.argv[1])))
