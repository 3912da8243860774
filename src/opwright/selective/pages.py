"""The pages that explain the codes of mistakes in the inputs of selective builds."""

from __future__ import annotations

from opwright.selective import codes
from opwright.source.codes import Code, register

__all__: list[str] = []


def _page(code: str, title: str, explanation: str) -> None:
    register(Code(code, title, explanation))


_page(
    codes.FIELDS_MISSING,
    "a required field is missing",
    """
An entry of a dependency graph or of a file of models lacks a field that it needs.

    - depends:
      - name: aten::resize_
    ^ an entry of a dependency graph has no field `name`

PyTorch's own scripts stop here with a KeyError.
""",
)
_page(
    codes.FIELD_WITHOUT_EFFECT,
    "a field that nothing reads",
    """
The file has a field that no program for selective builds reads. PyTorch's own scripts ignore it silently, also where it
is a misspelt name.

    - name: aten::add
      dependencies: []
      ^^^^^^^^^^^^ did you mean `depends`?
""",
)
_page(
    codes.VERSION_MISSING,
    "a version or an asset of a model is missing",
    """
The command asks for a version or an asset of a model, and no file of models has it.

    opwright.torchgen.gen_operators_yaml --model-name detector --model-versions 100,102 --models-yaml-path detector.yaml
                                                                                ^^^ detector.yaml has version 100

Check the name of the model, its versions and assets, and that all its files are given.
""",
)
_page(
    codes.ALL_OVERLOADS,
    "an operator stands for all its overloads",
    """
The operator has no `include_all_overloads: false`, so it stands for all its overloads. Selections of traced models name
single overloads, so this is an error unless the command allows it.

    operators:
      aten::add:
        include_all_overloads: true

Pass `--allow-include-all-overloads`, or name the overloads.
""",
)
_page(
    codes.OPERATOR_REPEATED,
    "two models select one operator",
    """
`--check-ops-not-overlapping` asks that no two selections name the same operator, because then two libraries would
register its kernels.

    selection 1: aten::add.out
    selection 2: aten::add.out
                 ^^^^^^^^^^^^^ selected twice
""",
)
_page(
    codes.LIST_WRONG,
    "a wrong list of files",
    """
The argument names neither a file nor, after an `@`, a file that lists others; or the list is empty.

    --model-file-list-path models.txt
                           ^^^^^^^^^^ write `@models.txt`
""",
)
_page(
    codes.DTYPE_UNKNOWN,
    "an unknown dtype",
    """
A kernel key has a number that is no dtype, or a list of dtypes has a name that is none. The keys have the form
`v1/6;0,1|3;0,1`: for each tensor the number of its dtype, and the order of its dimensions.

    et_kernel_metadata:
      aten::add.out:
      - v1/99;0,1
           ^^ no dtype
""",
)
_page(
    codes.OPERATORS_UNREADABLE,
    "a list of operators on the command line cannot be read",
    """
`--ops_dict` takes a JSON object: for each operator a list of dtypes or kernel keys, which is empty for all dtypes.

    --ops_dict '{"aten::add.out": ["Float", "v1/3;0,1"], "aten::mul.out": []}'
""",
)
_page(
    codes.PRIM_OPS_MISSING,
    "no primitive operators in the C++ file",
    """
The program counts the entries of the array `prim_ops` in ExecuTorch's `register_prim_ops.cpp`, which the file does not
have, or which has none.

    static Kernel prim_ops[] = {
        Kernel("executorch_prim::et_view.default", ...),
    };

Check the path.
""",
)
_page(
    codes.MODEL_DAMAGED,
    "not a model file of ExecuTorch",
    """
The file is not an ExecuTorch program, or is cut off. Programs start with four bytes and then `ET12`.

    --model_file_path model.onnx
                      ^^^^^^^^^^ not an ExecuTorch program (.pte)
""",
)
_page(
    codes.TWO_PRIM_OPS,
    "several targets register primitive operators",
    """
A program may depend on one target that registers primitive operators. With two of them, it stops when it starts.

    //ops:prim_ops_registry //other:prim_ops_registry
                            ^^^^^^^^^^^^^^^^^^^^^^^^^ a second one
""",
)
_page(
    codes.NOT_IN_GRAPH,
    "a root operator is not in the dependency graph",
    """
The dependency graph has no entry for a root operator, so what it needs is not known and is not kept. It may need
nothing; or the graph was made from other libraries, or an older version of them.

    opwright select --graph deps.yaml aten::new_operator
                                      ^^^^^^^^^^^^^^^^^^ deps.yaml has no such entry
""",
)
_page(
    codes.DEBUG_INFO_WRONG,
    "`debug_info` does not describe models",
    """
The first text in the `debug_info` of a selection is JSON with the digests of the models, as `gen_operators_yaml` writes
it. `gen_oplist` reads the digests from there.

    debug_info:
    - model_a@1
      ^^^^^^^^^ not JSON

Omit the field if the selection comes from no model.
""",
)
_page(
    codes.HEADER_MISSING,
    "a folder without selected_prim_ops.h",
    """
A folder in the list has no header with primitive operators. The others are united without it.

    @headers.txt: lib_a lib_b
                        ^^^^^ no lib_b/selected_prim_ops.h
""",
)
_page(
    codes.NOT_AN_ENTRY,
    "an entry without an operator",
    """
Each entry of a functions.yaml or custom_ops.yaml has `op`, the name of an operator of PyTorch, or `func`, a schema.

    - kernels: []
      ^^^^^^^ neither `op` nor `func`
""",
)
_page(
    codes.NOTHING_SELECTED,
    "nothing is selected",
    """
The inputs together select no operator. A build with this selection can run no model.

    opwright select empty.yaml --out selected.yaml
                    ^^^^^^^^^^ no operators

Check the paths of the inputs.
""",
)
_page(
    codes.NOT_KEPT,
    "an operator to explain is not kept",
    """
`opwright select explain` tells why an operator is kept. This one is not.

    opwright select explain aten::sub.Tensor --from selected.yaml
                            ^^^^^^^^^^^^^^^^ not selected
""",
)
