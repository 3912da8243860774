"""Library files: every mistake has a case, and what the fields say is in the model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.dialects.dialect import LoadContext
from opwright.libraries.dialect.loader import load
from opwright.libraries.entry_fields import Autocast, library_fields, outputs_of, requirements_of
from opwright.libraries.operator_library import OperatorLibrary
from opwright.model.native_function import NativeFunction
from opwright.plugins.code_pages import code_names
from opwright.release.inputs import open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics, Severity
from opwright.source.text import SourceFile
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults

FOLDER = Path(__file__).with_name("library_cases")
CASES = [
    case
    for name in ("fields.yaml", "heads.yaml", "implementations.yaml", "requirements.yaml")
    for case in load_cases(name, FOLDER)
]
DERIVATIVE_CASES = load_cases("derivatives.yaml", FOLDER)


def loaded(*texts: str, strict: bool = False) -> tuple[tuple[OperatorLibrary, ...], Diagnostics]:
    """The libraries of some files, and their faults."""
    sink = Diagnostics()
    context = LoadContext(sink, Rules(parse_version("2.13.0")), open_inputs("auto"), strict=strict)
    files = [SourceFile(f"ops{index}.yaml", text) for index, text in enumerate(texts)]
    return load(files, context), sink


def function_of(text: str, name: str) -> NativeFunction:
    """An operator of a file without faults."""
    libraries, sink = loaded(text)
    assert not len(sink), [str(diagnostic) for diagnostic in sink]
    return next(function for function in libraries[0].catalog.functions if function.name.text == name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_stand_at_their_places(case: Case) -> None:
    """What is found in a document is what its comments mark, to the column."""
    _, sink = loaded(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


@pytest.mark.parametrize(
    ("argument", "message", "help"),
    [
        (
            "Dict(str, __torch__.torch.classes.rnn.Cell) x",
            "`Dict(str, __torch__.torch.classes.rnn.Cell)` of argument `x` has no form in C++",
            "register this operator by hand, for which the C++ class is known",
        ),
        (
            "Dict(str, NoneType) x",
            "`Dict(str, NoneType)` of argument `x` has no form in C++",
            "an argument that is always None says nothing: leave it out, or write `Any?`",
        ),
        ("float? x=1", "`float?` cannot hold `1`, the default of `x`", "write `1.0`"),
        ("int x=None", "`int` cannot hold `None`, the default of `x`", "write `int?`"),
        ("int[] x=None", "`None` is not a default for type `int[]`", ""),
    ],
)
def test_values_without_a_form_in_cpp_are_answered(argument: str, message: str, help: str) -> None:
    """A type or a default that C++ cannot have is named, and so is what serves."""
    _, sink = loaded(
        f"namespace: acme\noperators:\n- func: f(Tensor self, {argument}) -> Tensor\n  dispatch: {{CPU: f}}"
    )
    assert [(fault.message, fault.help) for fault in sink] == [(message, help)]


def test_fields_are_in_the_model() -> None:
    """Each operator has the values of its entry's fields."""
    scale = library_fields(function_of(CASES[0].text, "scale"))
    assert scale.doc == "Scales a tensor."
    assert scale.autocast == Autocast("lower_precision_fp")
    assert scale.batch_rule == "acme::native::scale_batch_rule"
    assert scale.samples[0] == "torch.randn(3, 4), 2.0"
    norm = library_fields(function_of(CASES[0].text, "norm"))
    assert norm.autocast == Autocast("", (("CPU", "fp32_set_opt_dtype"), ("CUDA", "promote")))
    assert norm.batch_rule == "rules::norm"


def test_plugins_read_attributes_of_functions() -> None:
    """What libraries say of a function is an attribute of it too, as version 1 of the API of plug-ins promises."""
    norm = function_of(CASES[0].text, "norm.out")
    values = [getattr(norm, name) for name in ("library_fields", "declared_outputs", "requirements")]
    assert values == [library_fields(norm), outputs_of(norm), requirements_of(norm)]
    assert not hasattr(norm, "other_outputs")


def test_the_overloads_of_an_operation_share_declared_outputs() -> None:
    """Outputs that the functional overload declares are those of the out overload, and the other way round."""
    assert len(outputs_of(function_of(CASES[0].text, "norm.out"))) == 1
    lines = CASES[0].text.replace("  outputs: []\n", "").splitlines()
    lines.insert(lines.index("  samples: torch.ones(1), dtype=torch.float64"), "  outputs: []")
    assert len(outputs_of(function_of("\n".join(lines), "norm"))) == 1


@pytest.mark.parametrize("fields", [("dispatch: {CPU: f}", "dims: {x: n m, return: n}"), ("structured: True",)])
def test_patterns_of_results_are_declared_outputs(fields: tuple[str, ...]) -> None:
    """They are wherever the fields stand in the entry, and for structured kernels too."""
    dims, dispatch = "dims: {x: n m, return: n}", "dispatch: {CPU: f}"
    head = "namespace: acme\noperators:\n"
    entry = "- func: f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n- func: f(Tensor x) -> Tensor\n"
    if fields[0].startswith("structured"):
        first, second = entry.splitlines()
        lines = [first, f"  {fields[0]}", f"  {dims}", f"  {dispatch}", second, "  structured_delegate: f.out"]
        text = head + "\n".join(lines)
        assert [len(outputs_of(function_of(text, name))) for name in ("f", "f.out")] == [1, 1]
        return
    for order in (fields, fields[::-1]):
        text = head + "\n".join(["- func: f(Tensor x) -> Tensor", *[f"  {field}" for field in order]])
        assert len(outputs_of(function_of(text, "f"))) == 1
    composite = head + f"- func: f(Tensor x) -> Tensor\n  {dims}"
    assert outputs_of(function_of(composite, "f")) == ()


def test_every_code_has_a_case() -> None:
    """Each code of library files is marked in a case, or tested below."""
    registered = {code for code in code_names() if code[1:3] == "11" and not "1123" <= code[1:] < "1180"}
    marked = {code for case in (*CASES, *DERIVATIVE_CASES) for *_, code in case.faults}
    assert registered - marked == {"E1116", "E1122", "E1180", "W1119", *(f"E118{number}" for number in range(5, 9))}


def test_the_operators_of_a_namespace_may_be_in_several_files() -> None:
    """Files of one namespace make one library, with the headers of all of them; faults are in the right file."""
    first = "namespace: acme\nincludes: [a.h]\ndoc: First.\noperators:\n- func: sine(Tensor self) -> Tensor\n"
    second = "namespace: acme\nincludes: [b.h, a.h]\noperators:\n- func: cosine(Tensor self) -> Tensor\n"
    (library,), sink = loaded(first, second)
    assert not len(sink)
    assert (library.includes, library.doc, library.abi) == (("a.h", "b.h"), "First.", "native")
    assert [function.name.text for function in library.catalog.functions] == ["sine", "cosine"]
    twice = second.replace("cosine", "sine")
    _, sink = loaded(first, twice)
    assert [str(diagnostic.span) for diagnostic in sink] == ["ops1.yaml:4:9"]


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ("namespace: acme\ncpp_namespace: a", "namespace: acme\ncpp_namespace: b", "ops1.yaml:2:16"),
        ("namespace: acme\nabi: native", "namespace: acme\nabi: stable", "ops1.yaml:2:6"),
        ("namespace: acme\npython_package: a", "namespace: acme\npython_package: b", "ops1.yaml:2:17"),
        ("namespace: acme", "namespace: other\ncpp_namespace: acme", "ops1.yaml:2:16"),
        ("namespace: other\ncpp_namespace: acme", "namespace: acme", "ops0.yaml:2:16"),
    ],
)
def test_files_of_a_namespace_agree(first: str, second: str, place: str) -> None:
    """Heads that contradict each other are reported at the value in the later file, or at the one that can change."""
    texts = [
        f"{head}\noperators:\n- func: {name}(Tensor self) -> Tensor\n"
        for head, name in ((first, "sine"), (second, "cosine"))
    ]
    _, sink = loaded(*texts)
    assert [(diagnostic.code, str(diagnostic.span)) for diagnostic in sink] == [("E1116", place)]


def test_near_namespaces_are_errors_where_a_run_is_strict() -> None:
    """Warnings of a library file are errors of a strict run."""
    text = "namespace: acme\noperators:\n- func: acne::scale(Tensor self) -> Tensor\n"
    assert [diagnostic.severity for diagnostic in loaded(text)[1]] == [Severity.WARNING]
    assert [diagnostic.severity for diagnostic in loaded(text, strict=True)[1]] == [Severity.ERROR]


PAGE = (Path(__file__).parents[2] / "docs" / "library-files.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_has_no_fault() -> None:
    """The library file at the beginning of the reference page loads."""
    libraries, sink = loaded(PAGE.partition("```yaml\n")[2].partition("```")[0])
    assert not len(sink), [str(diagnostic) for diagnostic in sink]
    assert [function.name.text for function in libraries[0].catalog.functions] == ["scale"]


@pytest.mark.parametrize("form", re.findall(r"(?m)^\| `(outputs: .*?)` \|", PAGE))
def test_the_forms_of_outputs_on_the_page_have_no_fault(form: str) -> None:
    """Each form of the table is valid for an operator with one or two results."""
    results = "(Tensor mean, Tensor count)" if "two results" in PAGE.partition(form)[2].splitlines()[0] else "Tensor"
    schema = f"f(Tensor self, Tensor other, Tensor weight) -> {results}"
    text = f"namespace: acme\noperators:\n- func: {schema}\n  dispatch: {{CPU: f}}\n  {form}\n"
    assert outputs_of(function_of(text, "f"))


def test_out_overloads_have_no_tag() -> None:
    """Out overloads, written or synthesized, lack the tag with which Inductor would find them."""
    text = (
        "- func: acme::scale(Tensor self) -> Tensor\n  autogen: scale.out\n  dispatch: {CPU: scale}\n"
        "- func: acme::fill(Tensor self) -> Tensor\n  dispatch: {CPU: fill}\n"
        "- func: acme::fill.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch: {CPU: fill_out}\n"
    )
    assert function_of(text, "scale.out").tags == {"generated"}
    assert function_of(text, "fill.out").tags == set()
