"""The codes of mistakes in the sections of a backend file about lazy tensors: E160x."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register, register_warning


def _code(number: int, title: str, explanation: str, letter: str = "E") -> str:
    return register(Code(f"{letter}16{number:02}", title, explanation))


NO_OPERATORS: Final = _code(
    1,
    "a backend with lazy tensors has no operators",
    """
Lazy tensors need operators to be lazy about: in `full_codegen`, whose kernels are generated, or in `supported`.

    backend: Lazy
    cpp_namespace: acme
    full_codegen: []
                  ^^ name an operator
""",
)
UNKNOWN_NODE: Final = _code(
    2,
    "`ir_gen` names an operator that does not exist",
    """
`ir_gen` lists operators whose nodes are generated and whose kernels are not. Each is an operator of PyTorch with its
overload:

    ir_gen:
    - sellu
      ^^^^^ write `selu`

PyTorch's generator ignores other names.
""",
)
UNKNOWN_NODE_WARNING: Final = register_warning(UNKNOWN_NODE)
NON_NATIVE_SHAPE: Final = _code(
    3,
    "an entry of `non_native` does not describe a node",
    """
An entry of `non_native` is a mapping with the schema of a node as `func`, and optionally its kind and its properties:

    non_native:
    - func: cast(Tensor input, ScalarType dtype) -> Tensor
      opkind: ltc_cast
      properties:
      - ShapeCompute
""",
)
UNKNOWN_FIELD: Final = _code(
    4,
    "unknown field of a node",
    """
An entry of `non_native` has the fields `func`, `opkind` and `properties`.

    - func: cast(Tensor input, ScalarType dtype) -> Tensor
      op_kind: ltc_cast
      ^^^^^^^ write `opkind`

PyTorch's generator ignores other fields.
""",
)
UNKNOWN_FIELD_WARNING: Final = register_warning(UNKNOWN_FIELD)
UNKNOWN_PROPERTY: Final = _code(
    5,
    "unknown property of a node",
    """
The properties of a node decide what its class contains. Each replaces the one of its group that the node has otherwise:

    ShapePrecompute, ShapeCompute, ShapeCache     how it gets the shapes of its results
    Lower, LowerDeclOnly                          whether its lowering is generated or only declared
    CanBeReused, CanBeReusedDeclOnly              the same for the test whether it can be used again
    CreateFn, CreateFnDeclOnly                    the same for a function that makes nodes, which is absent otherwise
    TreatScalarsAsConstants                       numbers are part of the node instead of inputs

    properties:
    - ShapeComputed
      ^^^^^^^^^^^^^ write `ShapeCompute`
""",
)
CLASS_NAME_IGNORED: Final = _code(
    6,
    "`class_name` has no effect on lazy tensors",
    """
The class with the kernels of lazy tensors is always `{Key}NativeFunctions`.

    backend: Lazy
    class_name: AcmeFunctions
                ^^^^^^^^^^^^^ delete the line
""",
    "W",
)
