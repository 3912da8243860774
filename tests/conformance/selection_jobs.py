"""The jobs of merged selections.

PyTorch's scripts are in no wheel. Its library, which does their work, is the reference.
"""

from __future__ import annotations

from tests.conformance.jobs import Job

SELECTIVE = "{tests}/conformance/selective"

SMALL = tuple([f"{{selection}}/{name}.yaml" for name in ("training", "overloads", "kernels", "empty")])


def merged_selections(name: str, *paths: str, inputs: str = "pytorch") -> Job:
    """The job of merging selections."""
    return Job(
        f"selection-{name}",
        reference=((f"{SELECTIVE}/library_merge.py", *paths),),
        opwright=(("-m", "opwright", "select", *paths, "--source-path", "{aten}", "--out", "selected_operators.yaml"),),
        inputs=inputs,
    )


def selection_jobs() -> list[Job]:
    """Single selections, and several merged."""
    return [
        *[merged_selections(path.rpartition("/")[2].removesuffix(".yaml"), path) for path in SMALL],
        merged_selections("merged", *SMALL),
        merged_selections("everything", *SMALL, "{selection}/all.yaml"),
    ]
