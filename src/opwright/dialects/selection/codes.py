"""The codes of mistakes in selections: E07xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str, letter: str = "E") -> str:
    return register(Code(f"{letter}07{number:02}", title, explanation))


SELECTION_SHAPE: Final = _code(
    1,
    "a selection of the wrong shape",
    """
A selection file is a mapping with the keys include_all_operators, include_all_non_op_selectives, operators,
kernel_metadata, et_kernel_metadata, custom_classes, build_features and debug_info. Each operator has a mapping of its
own:

    operators:
      aten::add.Tensor:
        is_root_operator: true
        is_used_for_training: false
        include_all_overloads: false
""",
)
SELECTION_FIELD: Final = _code(
    2,
    "unknown field in a selection",
    """
The selection format does not have this field, so it would have no effect.

    operators:
      aten::add.Tensor:
        is_root: true
        ^^^^^^^ did you mean `is_root_operator`?
""",
)
SELECTED_UNKNOWN: Final = _code(
    3,
    "a selected operator does not exist",
    """
The selection names an operator that does not exist, in a namespace whose operators are loaded. PyTorch's own generator
silently omits the operator's code, so the program fails when it first calls it.

    operators:
      aten::adddd.Tensor: {}
      ^^^^^^^^^^^^^^^^^^ did you mean `aten::add.Tensor`?
""",
)
SELECTED_ELSEWHERE: Final = _code(
    4,
    "selected operators of other namespaces",
    """
The selection names operators of namespaces that no loaded file declares, such as `prim::`. They are implemented
elsewhere, so Opwright generates nothing for them; this is a note, not an error.

    operators:
      prim::device: {}
""",
    "W",
)
STATIC_WITHOUT_KERNELS: Final = _code(
    7,
    "static dispatch to a backend without kernels",
    """
`--static-dispatch-backend` makes operators call the kernels of a backend directly, but no operator of the run has a
kernel for it. MPS, XPU and MTIA have kernels only with their own flags.

    opwright generate --static-dispatch-backend XPU --out build
                                                ^^^ add `--xpu`

PyTorch's own generator then writes calls and includes of a backend `Undefined`, which do not compile; the drop-in
program writes the same, with a warning.
""",
)
UNKNOWN_BACKEND: Final = _code(
    5,
    "a backend that does not exist",
    """
A flag names a dispatch key that does not exist, or, for `--backend-whitelist`, one that no entry of
`native_functions.yaml` can have a kernel for.

    opwright generate --static-dispatch-backend CPUU --out build
                                                ^^^^ did you mean `CPU`?
""",
)
TWO_SELECTIONS: Final = _code(
    6,
    "two selections at once",
    """
`--op-registration-whitelist` and `--op-selection-yaml-path` both choose the operators; give one of them.

    opwright generate --op-registration-whitelist aten::add --op-selection-yaml-path selected.yaml --out build
                                                            ^^^^^^^^^^^^^^^^^^^^^^^^ a second selection
""",
)
NAME_DIFFERS: Final = _code(
    8,
    "a selected operator has two names",
    """
The key of an operator is its name. A field `name`, which is not needed, has to repeat it.

    operators:
      aten::add.Tensor:
        name: aten::add.Scalar
              ^^^^^^^^^^^^^^^^ write `aten::add.Tensor`

PyTorch's own generator stops here with an AssertionError.
""",
)
