"""Runs for PyTorch with different flags, one after the other into the same folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Final

from tests.edits.random_edits import NATIVE
from tests.edits.warm_runs import WarmRuns
from tests.engine.project import WholeProject

__all__ = ["FLAGS", "FlagRuns", "all_pairs", "random_pairs"]

#: Flags that change what a run for PyTorch writes, each by itself.
FLAGS: Final[Sequence[tuple[str, ...]]] = (
    ("--mps",),
    ("--xpu",),
    ("--mtia",),
    ("--rocm",),
    ("--lean",),
    ("--no-per-operator-headers",),
    ("--skip-dispatcher-op-registration",),
    ("--force-schema-registration",),
    ("--static-dispatch-backend", "CPU"),
    ("--backend-whitelist", "CPU"),
    ("--op-registration-whitelist", "aten::twice", "aten::soft"),
    ("--update-aoti-c-shim",),
    ("--extend-aoti-c-shim",),
    ("--release", "2.12"),
)

#: Operators with kernels for the devices that flags add. Without the flag, the last one has composite kernels alone,
#: so that autograd treats it otherwise.
_ENTRIES: Final = """
- func: only_{device}(Tensor self, int by=1) -> Tensor
  variants: function, method
  dispatch:
    {key}: only_{device}

- func: also_{device}(Tensor self, Tensor? weight=None) -> (Tensor, Tensor)
  dispatch:
    CPU: also_cpu
    {key}: also_{device}
  autogen: also_{device}.out

- func: apart_{device}(Tensor self) -> Tensor
  dispatch:
    CompositeImplicitAutograd: apart
    {key}: apart_{device}
"""


class FlagRuns(WarmRuns):
    """Runs for a few operators, among them some with kernels for the devices of flags."""

    def __init__(self, folder: Path, reference_inputs: Path) -> None:
        project = WholeProject(folder, reference_inputs)
        with (project.inputs.parent / NATIVE).open("a", encoding="utf-8") as stream:
            stream.writelines(_ENTRIES.format(device=name.lower(), key=name) for name in ("MPS", "XPU", "MTIA"))
        families = [word for family in project.families for word in ("--only", family)]
        super().__init__(folder, ["--source-path", str(project.inputs), *families])

    def check(self, sets: Sequence[tuple[tuple[str, ...], ...]]) -> Iterator[str]:
        """Run for each set of flags after the one before, and say which files differ from those of a fresh run."""
        before: tuple[tuple[str, ...], ...] = ()
        for flags in sets:
            words = [word for flag in flags for word in flag]
            for path in self.differences(_with_release(words), flags) or ():
                yield f"{flags} after {before}: {path}"
            before = flags


def _with_release(words: list[str]) -> list[str]:
    return words if "--release" in words else [*words, "--release", "2.13"]


def all_pairs() -> list[tuple[tuple[str, ...], ...]]:
    """Each flag, and none, after each other."""
    single = [(), *[(flag,) for flag in FLAGS]]
    return [flags for pair in permutations(single, 2) for flags in pair]


def random_pairs(count: int, seed: int) -> list[tuple[tuple[str, ...], ...]]:
    """Pairs of flags, and single ones, drawn at random."""
    random = Random(seed)
    return [tuple(random.sample(FLAGS, random.choice([0, 1, 2, 2, 2, 3]))) for _ in range(count)]
