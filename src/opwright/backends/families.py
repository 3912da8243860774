"""The families of files around the kernels of backends outside of PyTorch."""

from __future__ import annotations

from opwright.emit.family import PYTORCH_FILES, REGISTRATIONS, Check, Family

# Programs read the rows before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: Families of files.
FAMILIES: Final = (
    Family(
        "backend",
        "the code around the kernels of external backends",
        emitters=(
            "opwright.backends.emit.headers",
            "opwright.backends.emit.registrations",
            "opwright.backends.emit.dispatch_functions",
        ),
        folders={"backend": ""},
        inputs=(REGISTRATIONS,),
        imports=("opwright.backends.dialect.loader",),
        serves_backends=True,
        job_loader="opwright.backends.job:load_backend_job",
        file_options=("backend",),
        # Those of the operators that a backend file has of its own.
        also_generates=("library",),
        by_default=False,
        checks=(
            Check("opwright.backends.emit.checks:check_wrappers"),
            Check("opwright.backends.dispatch.traps:check_backends", when_tolerant=False),
            Check("opwright.backends.emit.checks:check_inherited_kernels", when_tolerant=False),
        ),
        programs={"gen_backend_stubs": None},
    ),
    Family(
        "lazy",
        "the code of lazy tensors of external backends",
        emitters=("opwright.backends.lazy.files",),
        folders={"lazy": "torch/csrc/lazy/generated"},
        inputs=(REGISTRATIONS,),
        dialects=("lazy",),
        imports=("opwright.backends.dialect.lazy",),
        checks=(
            Check("opwright.backends.emit.checks:check_wrappers"),
            Check("opwright.backends.lazy.checks:check_lazy"),
        ),
        serves_backends=True,
        job_loader="opwright.backends.job:load_backend_job",
        file_options=("backend",),
        by_default=False,
        programs={"gen_lazy_tensor": None},
        rule=PYTORCH_FILES,
    ),
)
