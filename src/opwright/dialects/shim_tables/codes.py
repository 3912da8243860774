"""The codes of mistakes in the tables of operators with a C shim."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

SHIM_TABLE: Final = register(
    Code(
        "E0804",
        "a table of C shims that cannot be read",
        """
        `torchgen/aoti/fallback_ops.py` has two tables of operators with a C shim: `inductor_fallback_ops`, whose
        operators have a shim for each device, and `aten_shimified_ops`, whose operators have one for all. Opwright
        reads the file and never runs it, so both tables must be dictionaries of constants. It also reads `**NAME`,
        `A | B` and `NAME.update(...)` with other dictionaries of the file, and `NAME["aten.sin.default"] = {}`.

            inductor_fallback_ops = {
                "aten.sin.default": {},
                "aten.cos.default": {"since": "TORCH_VERSION_2_15_0"},
                "aten.sum.default": {"v2": {"new_args": ["dtype"], "since": "TORCH_VERSION_2_15_0"}},
            }

            error[E0804]: `new_args` of `aten.sum.default` is not a list of argument names

        An operator is named `namespace.name.overload`, where `default` stands for no overload. `since` is the macro of
        the release that first has the shim. `v2`, `v3` and so on are further versions of a shim, each with the
        arguments that it adds. Before 2.13 a version is the list of these arguments alone.
        """,
    )
)
UNKNOWN_SHIM: Final = register(
    Code(
        "W0805",
        "C shim of an operator or argument that does not exist",
        """
        A table of `torchgen/aoti/fallback_ops.py` names an operator that is not in `native_functions.yaml`, or an
        argument that the operator does not have. PyTorch's generator silently skips such a name.

            warning[W0805]: no operator `aten.sinn.default`: it gets no C shim

        Correct the name, or remove the row. A run with `--extend-aoti-c-shim` does not check names of operators: the
        operators of a backend are a part of those in the tables.
        """,
    )
)
NO_VERSION: Final = register(
    Code(
        "E0806",
        "new argument without a version of the C shim",
        """
        Code that AOTInductor compiled calls C shims with the parameters that they had then. So a shim keeps its
        parameters forever, and an operator that gets an argument gets a further version of its shim, which has the
        argument. The older versions pass its default. The headers in PyTorch's source tree say which parameters the
        shims have.

            error[E0806]: `mul.Scalar` has the new argument `fast`, and its C shim no version for it
              help: add `"v2": {"new_args": ["fast"], "since": "TORCH_VERSION_2_14_0"}` to `aten.mul.Scalar`

        Add the version to the operator's row in `torchgen/aoti/fallback_ops.py`, then update the headers with
        `--update-aoti-c-shim`. With that flag this is a warning: nobody may have compiled code against headers that
        were never released.
        """,
    )
)
NO_VERSION_WARNING: Final = register(
    Code(
        "W0806",
        "changed parameters of a C shim",
        """
        The run updates the headers of the C shims, and a function in them gets other parameters. Code that was
        compiled against the header of a release would call it wrongly. See E0806 for what to write.

            warning[W0806]: `mul.Scalar` has the new argument `fast`, and its C shim no version for it

        Ignore this only if no release had the header.
        """,
    )
)
SAME_SYMBOL: Final = register(
    Code(
        "E0807",
        "two C shims with the same name",
        """
        AOTInductor names the shim of an operator of a library after the device and the operator alone, without
        namespace and overload. Two libraries that are loaded together and have an operator of the same name export
        the same C function, and code would call either of them.

            error[E0807]: `acme::scale` and `other::scale` both export `aoti_torch_cpu_scale`

        Rename one of the operators, or remove `c_shims` from one of the libraries.
        """,
    )
)
