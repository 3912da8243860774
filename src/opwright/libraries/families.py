"""The families of files around the operators of libraries, and of type stubs."""

from __future__ import annotations

from opwright.emit.family import OWN_STUBS, Check, Family

# Programs read the rows before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: Families of files.
FAMILIES: Final = (
    Family(
        "stubs",
        "type stubs of torch.ops",
        emitters=("opwright.libraries.stubs.files",),
        folders={"stubs": ""},
        inputs=(OWN_STUBS,),
        imports=("opwright.dialects.native_functions.loader",),
        by_default=False,
        programs={"stubs": None},
    ),
    Family(
        "library",
        "the code around the operators of libraries",
        emitters=(
            *map("opwright.libraries.emit.{}".format, ("headers", "sources", "operator_tests", "c_shims", "stable")),
            *map("opwright.libraries.emit.python.{}".format, ("module", "loader", "implemented", "cache_keys")),
            "opwright.libraries.frameworks",
        ),
        folders={"include": "include", "source": "src", "python": "python", "tests": "tests"},
        imports=("opwright.libraries.dialect.loader",),
        checks=(
            *map(Check, ("opwright.libraries.emit.checks:check_shapes", "opwright.libraries.emit.checks:check_cpp")),
            *map(
                Check, ("opwright.libraries.emit.checks:check_stable", "opwright.libraries.emit.checks:check_c_shims")
            ),
            Check("opwright.libraries.frameworks:check_frameworks"),
        ),
        by_default=False,
        serves_libraries=True,
        job_loader="opwright.libraries.job:load_library_job",
        file_options=("library", "backend"),
        made_of="libraries",
    ),
)
