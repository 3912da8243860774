"""A small input: a few entries with what goes with them; and the cases of this folder, which are such inputs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.conformance.inputs import pytorch_files, reference_package

FOLDER = Path(__file__).parent

#: An operator that every input has: without one that has a derivative the reference cannot write `VariableType`.
ANCHOR = """\
- func: anchor(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA: anchor
  autogen: anchor.out
"""

ANCHOR_DERIVATIVE = """\
- name: anchor(Tensor self) -> Tensor
  self: grad
"""

#: Where the header with the helpers of formulas is installed, from the packaged inputs on.
HELPERS = "../../torch/include/torch/csrc/autograd/FunctionsManual.h"

#: Where the tables of operators with a C shim are.
SHIM_TABLES = "../aoti/fallback_ops.py"

#: The reference's programs, by the names that cases give them.
PROGRAMS = {
    "aten": "gen",
    "autograd": "gen_autograd",
    "python": "gen_autograd_python",
    "annotated": "gen_annotated_fn_args",
}

PER_OPERATOR = "--per-operator-headers"
DEVICES = "--mps --xpu --mtia"


@dataclass(frozen=True)
class SmallInput:
    """The texts of one input, which follow those of the anchor, and PyTorch's in the case of tags.

    `flags` are the main program's, as words; `selection` is what its file of selected operators holds, if it has one;
    `helpers` is the header with the helpers of formulas, which only Opwright reads; `shim_tables` follows the module
    with the tables of C shims.
    """

    name: str
    native: str = ""
    derivatives: str = ""
    deprecated: str = "[]\n"
    tags: str = ""
    selection: str = ""
    helpers: str = ""
    shim_tables: str = ""
    flags: str = PER_OPERATOR

    def write(self, packaged: Path) -> list[str]:
        """Put the YAML files of the input in place of those in `packaged`; the flags of the main program."""
        tags = pytorch_files()["ATen/native/tags.yaml"].decode("utf-8")
        texts = {
            "ATen/native/native_functions.yaml": ANCHOR + self.native,
            "ATen/native/tags.yaml": tags + self.tags,
            "autograd/derivatives.yaml": ANCHOR_DERIVATIVE + self.derivatives,
            "autograd/deprecated.yaml": self.deprecated,
            "selection.yaml": self.selection,
            HELPERS: self.helpers,
            SHIM_TABLES: (reference_package() / "aoti" / "fallback_ops.py").read_text("utf-8") + self.shim_tables,
        }
        for path, text in texts.items():
            (packaged / path).parent.mkdir(parents=True, exist_ok=True)
            (packaged / path).write_text(text, encoding="utf-8")
        selected = ["--op-selection-yaml-path", f"{packaged}/selection.yaml"] if self.selection else []
        return [*shlex.split(self.flags), *selected]


def load_cases(file: str) -> list[Mapping[str, str]]:
    """The cases of a file of this folder, as mappings of texts."""
    cases: list[Mapping[str, str]] = yaml.safe_load((FOLDER / file).read_text(encoding="utf-8"))
    return cases


def small_input(name: str, case: Mapping[str, str]) -> SmallInput:
    """The input of a case, which may say more than an input does."""
    texts = ("native", "derivatives", "deprecated", "tags", "selection", "helpers", "shim_tables", "flags")
    return SmallInput(name, **{field: case[field] for field in texts if field in case})


def case_programs(case: Mapping[str, str]) -> list[str]:
    """The programs of a case, by the names of `PROGRAMS`; all of them if the case names none."""
    return case["programs"].split(", ") if "programs" in case else [*PROGRAMS]
