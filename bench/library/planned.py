"""Prints what Inductor's planning of memory gains where it can call out overloads, which have the tag `out`.

Both operators have the same kernel and the same contracts; one of them has the tag.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import opwright

# Any: mypy does not follow PyTorch here.
torch: Any = importlib.import_module("torch")

YAML = """\
namespace: planned
operators:
- func: tagged(Tensor! result, Tensor self, float by) -> ()
  dispatch: {CPU: scale}
  outputs: like(self)
  contracts: [functional, out]
  tags: out
- func: plain(Tensor! result, Tensor self, float by) -> ()
  dispatch: {CPU: "planned::native::plain_scale"}
  outputs: like(self)
  contracts: [functional, out]
"""

CPP = """\
void planned::native::scale(at::Tensor& result, const at::Tensor& self, double by) {
  const auto* from = self.const_data_ptr<float>();
  auto* to = result.mutable_data_ptr<float>();
  for (int64_t i = 0; i < self.numel(); ++i) {
    to[i] = from[i] * static_cast<float>(by);
  }
}

void planned::native::plain_scale(at::Tensor& result, const at::Tensor& self, double by) {
  scale(result, self, by);
}
"""

#: The number of elements: tensors have 64 MB.
ELEMENTS = 2**24


def _chain(operator: Callable[..., Any], x: Any) -> Any:  # noqa: ANN401
    for _ in range(8):
        x = operator(x, 1.5)
    return x


def _branches(operator: Callable[..., Any], x: Any) -> tuple[Any, Any]:  # noqa: ANN401
    first = operator(x, 1.0)
    second, third = operator(operator(first, 2.0), 3.0), operator(operator(first, 4.0), 5.0)
    return operator(operator(second, 6.0), 7.0), operator(third, 8.0)


def _allocations(call: Callable[[], object]) -> tuple[int, int]:
    """The number of large allocations of a call, and the most bytes that it holds at a time."""
    profiler = torch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        call()
    live = most = count = 0
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        most = max(most, live)
        count += event.nbytes() > ELEMENTS
    return count, most


def main() -> None:
    """Compile both programs with both operators."""
    opwright.inline(YAML, CPP)
    torch.set_num_threads(1)
    x = torch.ones(ELEMENTS)
    for program in (_chain, _branches):
        for name in ("tagged", "plain"):
            operator = getattr(torch.ops.planned, name).functional
            compiled = torch.compile(partial(program, operator), fullgraph=True, dynamic=False)
            compiled(x)
            count, most = _allocations(partial(compiled, x))
            print(f"{program.__name__[1:]}, {name}: {count} allocations, {most / 2**20:.0f} MB at most")


if __name__ == "__main__":
    main()
