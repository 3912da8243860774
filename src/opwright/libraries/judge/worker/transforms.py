"""What PyTorch makes of the candidate: gradients, compiled and exported programs, maps, and traces."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from .loading import LoadedCandidate
from .memory import Memory
from .protocol import JsonMessage, Tensor, Torch
from .results import Results, flat


class Transforms:
    """What is transformed, with which arguments, and where results go."""

    def __init__(self, torch: Torch, candidate: LoadedCandidate, memory: Memory, results: Results) -> None:
        self._torch: Final = torch
        self._candidate: Final = candidate
        self._memory: Final = memory
        self._results: Final = results

    def gradient(self, message: JsonMessage) -> JsonMessage:
        """Gradients of some arguments, and their gradients, for weights of results that follow from places."""
        torch = self._torch
        tensors = self._memory.with_leaves(message)
        leaves = [tensors[place] for place in message["leaves"]]
        positional, named = self._memory.given(message, tensors)
        results = self._candidate.function(*positional, **named)
        leaving = [result for result in flat(results) if isinstance(result, torch.Tensor) and result.requires_grad]
        if not leaving:
            return {"graph": False}
        first = self._gradients(leaving, leaves, create=message["second"])
        self._results.last = [tuple(first)]
        if message["second"]:
            again = [gradient for gradient in first if gradient.requires_grad]
            if not again:
                return {"graph": False}
            self._results.last = [(*first, *self._gradients(again, leaves, create=False))]
        return {"graph": True, **self._results.read(message)}

    def _gradients(self, results: list[Tensor], leaves: list[Tensor], *, create: bool) -> list[Tensor]:
        torch = self._torch
        weights = [
            (torch.arange(result.numel()) % 7 + 1).reshape(result.shape).to(result.dtype) / 4 for result in results
        ]
        gradients = torch.autograd.grad(results, leaves, weights, allow_unused=True, create_graph=create)
        return [
            torch.zeros_like(leaf) if value is None else value for leaf, value in zip(leaves, gradients, strict=True)
        ]

    def compile(self, message: JsonMessage) -> JsonMessage:
        """Call the candidate as `torch.compile` does, for dynamic sizes."""
        torch, candidate = self._torch, self._candidate.function
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda *given, **named: candidate(*given, **named),
            fullgraph=True,
            dynamic=True,
            backend="aot_eager",
        )
        positional, named = self._memory.given(message)
        self._results.last = [compiled(*positional, **named)]
        return self._results.read(message)

    def export(self, message: JsonMessage) -> JsonMessage:
        """Call the program that `torch.export` makes of a call."""
        torch, candidate = self._torch, self._candidate.function

        class Exported(torch.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401
                return candidate(*given, **named)

        positional, named = self._memory.given(message)
        program = torch.export.export(Exported(), tuple(positional), named)
        self._results.last = [program.module()(*positional, **named)]
        return self._results.read(message)

    def vmap(self, message: JsonMessage) -> JsonMessage:
        """Map the candidate over the first dimension of some tensors."""
        torch, candidate, places = self._torch, self._candidate.function, message["mapped"]
        tensors = self._memory.tensors[message["arena"]]

        def mapped(*parts: Tensor) -> Any:  # noqa: ANN401
            changed = list(tensors)
            for place, part in zip(places, parts, strict=True):
                changed[place] = part
            positional, named = self._memory.given(message, changed)
            return candidate(*positional, **named)

        self._results.last = [torch.vmap(mapped)(*[tensors[place] for place in places])]
        return self._results.read(message)

    def fake(self, message: JsonMessage) -> JsonMessage:
        """Sizes, dtypes and strides of results in a trace."""
        torch = self._torch
        fakes = import_module("torch._subclasses.fake_tensor")
        shapes = import_module("torch.fx.experimental.symbolic_shapes")
        with fakes.FakeTensorMode(shape_env=shapes.ShapeEnv()) as mode:
            tensors = [
                mode.from_tensor(tensor, static_shapes=True) for tensor in self._memory.tensors[message["arena"]]
            ]
            positional, named = self._memory.given(message, tensors)
            results = self._candidate.function(*positional, **named)
            return {
                "facts": [
                    {
                        "dtype": str(result.dtype).removeprefix("torch."),
                        "shape": [size if isinstance(size, int) else None for size in result.shape],
                        "stride": [step if isinstance(step, int) else None for step in result.stride()],
                    }
                    for result in flat(results)
                    if isinstance(result, torch.Tensor)
                ]
            }
