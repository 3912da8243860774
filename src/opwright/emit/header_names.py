"""Two operators cannot have one header.

`foo_ops.h` belongs to `foo` as well as to `foo_ops`, and `clip.h` to `aten::clip` as well as to `vend::clip`.
"""

from __future__ import annotations

from typing import Final

from opwright.emit.emitter import FilePerUnit, Job
from opwright.emit.registry import emitters, families_with
from opwright.model.library import PYTORCH
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label

__all__ = ["check_header_names", "check_headers_of_pytorch"]

#: What may follow an operator's name in the name of one of its headers.
_ENDINGS: Final = ("_ops", "_native", "_meta", "_dispatch")


def check_header_names(job: Job, sink: Diagnostics) -> None:
    """Reports each operator that wants a header of another one's."""
    if not job.options.per_operator_headers or not any(_is_suspect(name, job) for name in job.by_root):
        return
    owners: dict[tuple[str, str], str] = {}
    for emitter in emitters(job, families_with("ops")):
        layout = emitter.layout
        if not isinstance(layout, FilePerUnit):
            continue
        for unit in emitter.units(job):
            name: str = unit[0]
            path = layout.path(unit)
            owner = owners.setdefault((emitter.folder, path), name)
            if owner != name:
                first, second = job.by_root[owner][0], job.by_root[name][0]
                message = f"`{owner}` and `{name}` both need the header `{emitter.folder}/{path}`"
                also = (Label(first.entry, "the other one", primary=False),)
                sink.error(codes.SAME_HEADER, message, second.entry, also=also)


def check_headers_of_pytorch(job: Job, sink: Diagnostics) -> None:
    """Reports each operator of another namespace whose headers would hide those of one of PyTorch's own operators.

    The headers of a library that is loaded as such are in a folder of its own.
    """
    if not job.options.per_operator_headers:
        return
    for name, functions in job.by_root.items():
        function = functions[0]
        if function.namespace == "aten" or function.library is not PYTORCH:
            continue
        hidden = job.rules.operators.intersection((name, *_stems(name)))
        if not hidden:
            continue
        message = f"`{function.namespace}::{name}` needs the header `ops/{name}.h`, "
        help = f"give the operator another name, such as `{function.namespace}_{name}`"
        owner = max(hidden, key=len)
        sink.error(
            codes.HEADER_OF_PYTORCH, f"{message}which is that of PyTorch's own `{owner}`", function.entry, help=help
        )


def _is_suspect(name: str, job: Job) -> bool:
    """Whether an operator's name reads like the name of another one's header."""
    return any(stem in job.by_root for stem in _stems(name))


def _stems(name: str) -> tuple[str, ...]:
    """The operators that have a header which is called like the one of `name`, if they exist.

    >>> _stems("foo_ops"), _stems("foo_cpu_dispatch"), _stems("foo")
    (('foo',), ('foo_cpu', 'foo'), ())
    """
    if not name.endswith(_ENDINGS):
        return ()
    stem = name.rpartition("_")[0]
    return (stem, stem.rpartition("_")[0]) if name.endswith("_dispatch") else (stem,)
