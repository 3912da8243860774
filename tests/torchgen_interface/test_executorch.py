"""The names of ExecuTorch's generator give what Opwright's program for ExecuTorch writes.

The installed PyTorch has no such generator: the last release with one is 2.7.
"""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import opwright
from opwright.torchgen import gen_executorch, local
from opwright.torchgen.api import cpp
from opwright.torchgen.api.types import BaseCType, CppSignatureGroup
from opwright.torchgen.executorch.api import et_cpp
from opwright.torchgen.executorch.api.custom_ops import ComputeNativeFunctionStub
from opwright.torchgen.executorch.api.unboxing import Unboxing, name
from opwright.torchgen.executorch.model import (
    ETKernelIndex,
    ETKernelKey,
    ETKernelKeyOpArgMeta,
    ETParsedYaml,
    ScalarType,
)
from opwright.torchgen.model import BackendMetadata, DispatchKey, Location, NativeFunction, OperatorName, Type
from opwright.torchgen.selective_build.selector import SelectiveBuilder
from opwright.torchgen.utils import FileManager
from tests.executorch.executorch_cases import ExecutorchCase, load_cases, run_case

TEMPLATES = Path(opwright.__file__).parent / "mobile" / "executorch" / "templates"
et_types: Any = import_module("opwright.torchgen.executorch.api.types")
EVERYTHING = SelectiveBuilder.get_nop_selector()


def parts_of(case: ExecutorchCase, folder: Path) -> dict[str, str]:
    """The files of a case by the names of their parts."""
    folder.mkdir()
    for part, text in case.parts.items():
        (folder / part).write_text(text, encoding="utf-8")
    return {part: str(folder / part) for part in case.parts}


def parse(
    inputs: Path, parts: dict[str, str], selector: SelectiveBuilder = EVERYTHING, *, aten_mode: bool = False
) -> tuple[ETParsedYaml, ETParsedYaml | None]:
    """The operators of both files of a case."""
    paths = (str(inputs / "native" / "tags.yaml"), str(inputs / "native" / "native_functions.yaml"))
    return gen_executorch.parse_yaml_files(*paths, parts.get("functions"), parts.get("custom"), selector, aten_mode)


def without_comments(text: str) -> list[str]:
    """The lines of files without those that name the program, and without blank ones."""
    return [line.rstrip() for line in text.splitlines() if line.strip() and "@generated" not in line]


def written(case: ExecutorchCase, folder: Path, inputs: Path) -> str:
    """All files that the functions of the interface write for a case. Raises AssertionError for mistakes."""
    parts = parts_of(case, folder / "parts")
    selector = SelectiveBuilder.from_yaml_str(case.parts["selection"]) if "selection" in parts else EVERYTHING
    aten_mode = "aten" in case.said("mode")
    (functions, index), custom = parse(inputs, parts, selector, aten_mode=aten_mode)
    files = FileManager(install_dir=str(folder / "own"), template_dir=str(TEMPLATES), dry_run=False)
    own_functions = [] if custom is None else custom.native_functions
    gen_executorch.gen_headers(
        native_functions=functions,
        gen_custom_ops_header=custom is not None,
        custom_ops_native_functions=own_functions,
        selector=selector,
        kernel_index=index,
        cpu_fm=files,
        use_aten_lib=aten_mode,
    )
    gen_executorch.gen_unboxing(
        native_functions=functions,
        cpu_fm=files,
        selector=selector,
        use_aten_lib=aten_mode,
        kernel_index=index,
        manual_registration=False,
    )
    gen_executorch.gen_custom_ops(
        native_functions=own_functions, selector=selector, kernel_index=index, cpu_fm=files, rocm=False
    )
    return "\n".join([path.read_text(encoding="utf-8") for path in sorted((folder / "own").iterdir())])


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_files_are_those_of_the_program(case: ExecutorchCase, tmp_path: Path, reference_inputs: Path) -> None:
    """All files of a case are those of the program, and what it refuses is refused."""
    (tmp_path / "program").mkdir()
    outcome = run_case(case, tmp_path / "program", strict=False)
    if outcome.text:
        own = written(case, tmp_path, reference_inputs)
        assert without_comments(own) == without_comments(outcome.text)
    else:
        with pytest.raises(AssertionError, match=r"error\[E19\d\d\]"):
            written(case, tmp_path, reference_inputs)


def function(schema: str) -> NativeFunction:
    """A function of a schema."""
    place = Location(file="operators.yaml", line=1)
    return NativeFunction.from_yaml({"func": schema, "dispatch": {"CPU": "kernel"}}, place, set())[0]


def kernel(name: str) -> BackendMetadata:
    """A kernel."""
    return BackendMetadata(kernel=name, structured=False, cpp_namespace="mine::native")


DEFAULT = ETKernelKey(default=True)
MIX = function("mix.out(Tensor self, int[]? by=None, *, bool[2] mask, str how='a', Tensor(a!) out) -> Tensor(a!)")


def test_keys_have_dtypes_and_dim_orders() -> None:
    """A key for each combination of dtypes, the same one for arguments of the same alias."""
    arguments = {"self": ("T0", "D0"), "other": ("T1", "D0"), "out": ("T0", "D0")}
    keys = ETKernelKey.gen_from_yaml(arguments, {"T0": ["Float", "Double"], "T1": ["Int"]}, {"D0": [0, 1]})
    assert [key.to_native_string() for key in keys] == ["v1/6;0,1|3;0,1|6;0,1", "v1/7;0,1|3;0,1|7;0,1"]
    assert keys[0].arg_meta[1] == ETKernelKeyOpArgMeta(arg_name="other", dtype="Int", dim_order=(0, 1))
    assert keys[0].arg_meta[1].to_native_string() == f"{ScalarType['Int'].value};0,1"
    assert (DEFAULT.to_native_string(), DEFAULT.version) == ("default", 1)
    with pytest.raises(AssertionError, match="`T9` or `D0` of `self` is no alias"):
        ETKernelKey.gen_from_yaml({"self": ("T9", "D0")}, {}, {"D0": [0]})


def test_kernels_are_found_by_operator() -> None:
    """An index has the default kernels of dispatch keys and others, of which the later of the same key stay."""
    add, other = OperatorName.parse("mix.out"), OperatorName.parse("other")
    keys = DispatchKey["CPU"], DispatchKey["CUDA"]
    index = ETKernelIndex.from_backend_indices({keys[0]: {add: kernel("a")}, keys[1]: {add: kernel("b")}})
    assert index.get_kernels(MIX) == {DEFAULT: kernel("b")}
    assert index._to_backend_index().get_kernel(MIX) == kernel("b")
    special = ETKernelKey.gen_from_yaml({"self": ("T0", "D0")}, {"T0": ["Float"]}, {"D0": [0]})[0]
    more = ETKernelIndex({add: {special: kernel("c")}, other: {DEFAULT: kernel("d")}})
    merged = ETKernelIndex.merge_indices(index, more)
    assert merged.get_kernels(MIX) == {DEFAULT: kernel("b"), special: kernel("c")}
    assert (len(index.index), merged.has_kernels(function("none() -> Tensor"))) == (1, False)
    assert index.grow({keys[0]: {other: kernel("e")}}).index[other] == {DEFAULT: kernel("e")}
    with pytest.raises(AssertionError, match=r"`mix\.out` has kernels other than one default kernel"):
        merged._to_backend_index()


def test_signatures_have_types_of_executorch() -> None:
    """A function takes the context first; types that ExecuTorch does not have are refused."""
    signature = et_types.ExecutorchCppSignature.from_native_function(MIX, prefix="my_")
    with local.parametrize(use_const_ref_for_mutable_tensors=False, use_ilistref_for_tensor_lists=False):
        assert signature.decl(include_context=False) == (
            "torch::executor::Tensor & my_mix_outf(const torch::executor::Tensor & self, "
            "std::optional<torch::executor::ArrayRef<int64_t>> by, torch::executor::ArrayRef<bool> mask, "
            "std::string_view how, torch::executor::Tensor & out)"
        )
        assert signature.defn("f").startswith("torch::executor::Tensor & f(torch::executor::KernelRuntimeContext & ")
        by = et_cpp.argument_type(MIX.func.arguments.flat_all[1], binds="by")
        assert by.type == et_types.OptionalCType(et_types.ArrayRefCType(BaseCType(et_types.longT)))
        assert et_cpp.return_type(MIX.func.returns[0]).cpp_type() == "torch::executor::Tensor &"
        assert et_cpp.valuetype_type(Type.parse("Tensor"), binds="x") is None
        for exception in (AssertionError, KeyError, NotImplementedError):
            with pytest.raises(exception, match="ExecuTorch has no C\\+\\+ type for `Layout`"):
                et_cpp.argumenttype_type(Type.parse("Layout"), mutable=False, binds="x")


def test_values_are_unboxed() -> None:
    """The statements take values from the stack and convert them to the types of a convention."""
    bindings = et_types.ExecutorchCppSignature.from_native_function(MIX).arguments(include_context=False)
    converted, code = Unboxing(argument_type_gen=et_cpp.argumenttype_type).convert_arguments(bindings)
    assert [binding.name for binding in converted] == [
        "self_base",
        "by_opt_out",
        "mask_list_out",
        "how_base",
        "out_base",
    ]
    assert code[4] == "EValue& out = *stack[4];"
    assert "    auto by_opt_out = by.toOptional<torch::executor::ArrayRef<int64_t>>();" in code
    own = CppSignatureGroup.from_native_function(MIX, method=False).most_faithful_signature()
    _, code = Unboxing(argument_type_gen=cpp.argumenttype_type).convert_arguments(own.arguments())
    assert "at::Tensor & out_base = out.to<at::Tensor>();" in code
    assert name(MIX) == "mix_out"
    with pytest.raises(AssertionError, match="`context` is not one argument"):
        Unboxing(argument_type_gen=et_cpp.argumenttype_type).convert_arguments([et_types.contextArg])


def test_single_texts_are_made() -> None:
    """A stub, the registration of a kernel, and the functions of a header."""
    stub = ComputeNativeFunctionStub()
    assert "return out;" in (stub(MIX) or "")
    assert (
        stub(NativeFunction.from_yaml({"func": "f(Tensor self) -> int", "variants": "method"}, MIX.loc, set())[0])
        is None
    )
    with pytest.raises(AssertionError, match="no stub can return what `count` returns"):
        stub(function("count(Tensor self) -> int"))
    register = gen_executorch.ComputeCodegenUnboxedKernels(EVERYTHING, False)
    assert '"aten::mix.out",' in register((MIX, (DEFAULT, kernel("mix"))))
    special = ETKernelKey.gen_from_yaml({"self": ("T0", "D0")}, {"T0": ["Float", "Int"]}, {"D0": [0]})
    assert register((MIX, (special, kernel("mix")))) == "".join(
        [register((MIX, (key, kernel("mix")))) for key in special]
    )
    few = SelectiveBuilder.from_legacy_op_registration_allow_list({"aten::add"}, True, False)
    assert gen_executorch.ComputeCodegenUnboxedKernels(few, False)((MIX, (DEFAULT, kernel("mix")))) == ""
    with pytest.raises(AssertionError, match="neither returns nor `out`"):
        register((function("nothing(Tensor self) -> ()"), (DEFAULT, kernel("nothing"))))
    declared = gen_executorch.gen_functions_declarations(
        native_functions=[MIX],
        kernel_index=ETKernelIndex({MIX.func.name: {DEFAULT: kernel("mix")}}),
        selector=EVERYTHING,
        use_aten_lib=False,
    )
    assert "return ::mine::native::mix(context, self, by, mask, how, out);" in declared


def test_files_are_translated(tmp_path: Path, reference_inputs: Path) -> None:
    """A translated file has schemas in place of names, and the same operators; PyTorch's library has its own."""
    named = tmp_path / "functions.yaml"
    named.write_text("- op: add.out\n  kernels:\n    - arg_meta: null\n      kernel_name: mine::add\n")
    native = reference_inputs / "native"
    paths = (str(native / "tags.yaml"), str(native / "native_functions.yaml"))
    text = StringIO()
    gen_executorch.translate_native_yaml(*paths, str(named), False, text)
    assert text.getvalue().startswith("- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)")
    translated = tmp_path / "translated.yaml"
    translated.write_text(text.getvalue())
    operators = [parse(reference_inputs, {"functions": str(path)})[0] for path in (named, translated)]
    assert operators[0].kernel_index == operators[1].kernel_index
    whole = StringIO()
    gen_executorch.translate_native_yaml(*paths, None, True, whole)
    assert whole.getvalue() == (native / "native_functions.yaml").read_text(encoding="utf-8")
    named.write_text("- op: no_such_operator\n")
    with pytest.raises(AssertionError, match="PyTorch has no operator `no_such_operator`"):
        gen_executorch.translate_native_yaml(*paths, str(named), False, text)
