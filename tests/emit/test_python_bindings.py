"""The C++ functions behind Python functions, their named results, and what has no binding."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.convention.python.bound import TENSOR_METHODS, TORCH, PythonModule
from opwright.dialects.deprecated import load_deprecated
from opwright.emit.emitter import Job, Options
from opwright.emit.python import annotated_arguments, files, return_types
from opwright.emit.python.implementation import forward_declaration, implementation, table_entry
from opwright.emit.python.units import PythonBinding, bindings, check_bindings, check_modules
from opwright.release.inputs import open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostic, Diagnostics, FaultsFound
from opwright.source.text import SourceFile
from tests.emit.emitting import RULES, job_of, paths_of, slots_of

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

MIX = """
- func: mix(Tensor self, Scalar by=1) -> Tensor
  variants: function, method
  dispatch:
    CPU: mix
- func: mix.out(Tensor self, Scalar by=1, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: mix_out
- func: mix.Tensor(Tensor self, Tensor by) -> Tensor
  variants: function, method
"""

TOP = """
- func: top(Tensor self) -> (Tensor values, Tensor places)
  variants: function, method
  dispatch:
    CPU: top
- func: top.out(Tensor self, *, Tensor(a!) values, Tensor(b!) places) -> (Tensor(a!) values, Tensor(b!) places)
  dispatch:
    CPU: top_out
- func: top.by(Tensor self, int by) -> (Tensor values, Tensor places)
"""


def binding_of(entries: str, name: str, module: PythonModule = TORCH, deprecated: str = "") -> PythonBinding:
    """The binding of a name in a module."""
    job = with_deprecated(job_of(entries), deprecated)
    return next(binding for binding in bindings(job, module) if binding.name.name == name)


def with_deprecated(job: Job, text: str) -> Job:
    """The job with the deprecated signatures of a text."""
    sink = Diagnostics()
    signatures = load_deprecated(SourceFile("deprecated.yaml", text), job.catalog.functions, sink) if text else ()
    sink.raise_if_errors()
    return Job(job.catalog, job.rules, job.options, deprecated=signatures)


def refusals(entries: str, deprecated: str = "") -> tuple[Diagnostic, ...]:
    """What is reported of functions that have no binding."""
    sink = Diagnostics()
    job = with_deprecated(job_of(entries), deprecated)
    check_modules(job, sink)
    check_bindings(job, sink)
    return sink.sorted()


def test_function_parses_chooses_and_calls() -> None:
    """The whole function: signatures, the number of most arguments, a case for each, `out` apart."""
    assert (
        implementation(binding_of(MIX, "mix"), RULES)
        == """\\
// mix
static PyObject * THPVariable_mix(PyObject* self_, PyObject* args, PyObject* kwargs)
{
  HANDLE_TH_ERRORS
  static PythonArgParser parser({
    "mix(Tensor input, Tensor by)",
    "mix(Tensor input, Scalar by=1, *, Tensor out=None)",
  }, /*traceable=*/true);

  ParsedArgs<3> parsed_args;
  auto _r = parser.parse(nullptr, args, kwargs, parsed_args);
  if(_r.has_torch_function()) {
    return handle_torch_function(_r, nullptr, args, kwargs, THPVariableFunctionsModule, "torch");
  }
  switch (_r.idx) {
    case 0: {
      // aten::mix.Tensor(Tensor self, Tensor by) -> Tensor

      auto dispatch_mix = [](const at::Tensor & self, const at::Tensor & by) -> at::Tensor {
        pybind11::gil_scoped_release no_gil;
        return self.mix(by);
      };
      return wrap(dispatch_mix(_r.tensor(0), _r.tensor(1)));
    }
    case 1: {
      if (_r.isNone(2)) {
        // aten::mix(Tensor self, Scalar by=1) -> Tensor

        auto dispatch_mix = [](const at::Tensor & self, const at::Scalar & by) -> at::Tensor {
          pybind11::gil_scoped_release no_gil;
          return self.mix(by);
        };
        return wrap(dispatch_mix(_r.tensor(0), _r.scalar(1)));
      } else {
        // aten::mix.out(Tensor self, Scalar by=1, *, Tensor(a!) out) -> Tensor(a!)

        auto dispatch_mix_out = [](at::Tensor out, const at::Tensor & self, const at::Scalar & by) -> at::Tensor {
          pybind11::gil_scoped_release no_gil;
          return at::mix_out(out, self, by);
        };
        return wrap(dispatch_mix_out(_r.tensor(2), _r.tensor(0), _r.scalar(1)));
      }
    }
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

"""
    )


def test_method_unpacks_self() -> None:
    """A method's `self` is the object that it is called on; there are no outs."""
    text = implementation(binding_of(MIX, "mix", TENSOR_METHODS), RULES)
    assert "  const Tensor& self = THPVariable_Unpack(self_);\n" in text
    assert '    "mix(Tensor by)",\n    "mix(Scalar by=1)",\n' in text
    assert 'handle_torch_function(_r, self_, args, kwargs, THPVariableClass, "torch.Tensor");' in text
    assert "return wrap(dispatch_mix(self, _r.scalar(0)));" in text


def test_method_without_arguments_parses_nothing() -> None:
    """There is no parser, and the check for other classes is a shorter one, which changed with 2.13."""
    binding = binding_of("- func: still(Tensor self) -> Tensor\n  variants: method\n", "still", TENSOR_METHODS)
    text = implementation(binding, RULES)
    assert "static PyObject * THPVariable_still(PyObject* self_, PyObject* args)\n{\n" in text
    assert 'if (has_torch_function(self_)) {\n    return handle_torch_function(self_, "still");\n  }\n' in text
    assert "parser" not in text
    assert "Py_RETURN_NONE" not in text
    assert "if(check_has_torch_function(self_)) {" in implementation(binding, Rules(parse_version("2.12.1")))
    assert table_entry(binding, RULES) == '{"still", THPVariable_still, METH_NOARGS, nullptr},'


def test_named_results_take_their_type() -> None:
    """Each set of names has its type, and an out form has one of its own."""
    text = implementation(binding_of(TOP, "top"), RULES)
    assert "static PyTypeObject* NamedTuple = generated::get_top_structseq();\n" in text
    assert "static PyTypeObject* NamedTuple1 = generated::get_top_out_structseq();\n" in text
    assert "return wrap(NamedTuple, dispatch_top(_r.tensor(0)));" in text
    assert "return wrap(NamedTuple1, dispatch_top_out(out[0], out[1], _r.tensor(0)));" in text
    assert "auto out = _r.tensorlist_n<2>(1);\n" in text


def test_options_are_packed_and_their_device_initialized() -> None:
    """The options go into one object; a method asks first whether the tensor dispatches to Python."""
    entries = f"""
- func: new_tile(Tensor self, int times, *, {OPTIONS}) -> Tensor
  variants: method
  dispatch:
    CPU: new_tile
- func: tile(int times, *, {OPTIONS}) -> Tensor
  dispatch:
    CPU: tile
- func: tile.out(int times, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: tile_out
"""
    method = implementation(binding_of(entries, "new_tile", TENSOR_METHODS), RULES)
    assert "  if (!at::impl::tensor_has_dispatch(self)) {\n    torch::utils::maybe_initialize_device" in method
    assert ".set_requires_grad(_r.toBool(5)));" in method
    older = implementation(binding_of(entries, "new_tile", TENSOR_METHODS), Rules(parse_version("2.12.1")))
    assert "tensor_has_dispatch" not in older
    function = implementation(binding_of(entries, "tile"), RULES)
    assert "dispatch_tile(_r.toInt64(0), options));" in function
    assert "      .device(_r.deviceWithDefault(4, torch::tensors::get_default_device()))\n" in function
    assert "check_out_type_matches(_r.tensor(1), _r.scalartypeOptional(2),\n" in function
    assert "dispatch_tile_out(_r.tensor(1), _r.toInt64(0)).set_requires_grad(_r.toBool(6)));" in function


def test_deprecated_signature_is_one_more_case() -> None:
    """It is marked for the parser, and its comment shows it in place of the operator's schema."""
    deprecated = "- name: mix(Scalar by, Tensor self) -> Tensor\n  aten: mix(self, by)\n"
    text = implementation(binding_of(MIX, "mix", deprecated=deprecated), RULES)
    assert '    "mix(Scalar by, Tensor input)|deprecated",\n' in text
    assert "// [deprecated] aten::mix(Scalar by, Tensor self) -> Tensor\n" in text
    assert "[](const at::Scalar & by, const at::Tensor & self) -> at::Tensor {" in text


def test_lists_changed_in_place_are_returned() -> None:
    """Python gets the list that it passed, though the operator returns nothing; other such operators give None."""
    entries = """
- func: _foreach_mix_(Tensor(a!)[] self) -> ()
  device_check: NoCheck
  dispatch:
    CPU: mix_
- func: tell(Tensor self) -> ()
"""
    text = implementation(binding_of(entries, "_foreach_mix_"), RULES)
    assert "  dispatch__foreach_mix_(_r.tensorlist(0));\n  PyObject* self_tensorlist = _r.args[0];\n" in text
    assert "  dispatch_tell(_r.tensor(0));\n  Py_RETURN_NONE;\n" in implementation(binding_of(entries, "tell"), RULES)


def test_dunders_ask_the_other_operand() -> None:
    """What Python calls for an operator sign answers NotImplemented where it cannot serve."""
    binding = binding_of("- func: __and__(Tensor self, Scalar other) -> Tensor\n", "__and__")
    assert table_entry(binding, RULES) == (
        '{"__and__", castPyCFunctionWithKeywords(TypeError_to_NotImplemented_<THPVariable___and__>), '
        "METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},"
    )
    assert forward_declaration(binding) == (
        "static PyObject * THPVariable___and__(PyObject* self_, PyObject* args, PyObject* kwargs);\n"
    )


def test_return_types_are_defined_once() -> None:
    """The overloads of a name with the same names of results share a type."""
    job = job_of(TOP)
    header = slots_of(return_types.emitters, "python_return_types.h", job)
    assert header["py_return_types_declarations"] == [
        "PyTypeObject* get_top_structseq();",
        "PyTypeObject* get_top_out_structseq();",
    ]
    source = slots_of(return_types.emitters, "python_return_types.cpp", job)
    types = "".join(source["py_return_types"])
    assert 'NamedTuple_fields[] = { {"values", ""}, {"places", ""},  {nullptr} };' in types
    assert "static PyTypeObject top_outNamedTuple1;" in types


def test_annotated_arguments_are_those_without_default() -> None:
    """Each overload is listed with what a call has to pass, with the type and the length of lists."""
    entries = "- func: mix(Tensor self, int[2] by, bool deep=False, *, str mode) -> Tensor\n"
    slots = slots_of(annotated_arguments.emitters, "annotated_fn_args.py", job_of(entries))
    assert slots["annotated_args"] == [
        "    torch._C._VariableFunctions.mix: ["
        "{'is_kwarg_only': 'False', 'name': 'self', 'simple_type': 'Tensor'}, "
        "{'is_kwarg_only': 'False', 'name': 'by', 'simple_type': 'IntArrayRef', 'size': 2}, "
        "{'is_kwarg_only': 'True', 'name': 'mode', 'simple_type': 'c10::string_view'}],"
    ]


def test_tags_are_an_enumeration() -> None:
    """All tags of the file are members, in alphabetical order."""
    slots = slots_of(return_types.emitters, "python_enum_tag.cpp", job_of(MIX))
    text = slots["enum_of_valid_tags"]
    assert isinstance(text, str)
    assert text.startswith('\n.value("core", at::Tag::core)\n.value("generated", ')
    # PyTorch's template has no comment; in one that has, it names a program, and no other file of Python bindings does.
    assert (
        slots["generated_comment"] == "@" + "generated by tools/setup_helpers/generate_code.py from python_enum_tag.cpp"
    )


def test_files_follow_the_modules() -> None:
    """Functions of `torch` are sharded; each other module, and the methods, have one file."""
    job = job_of(MIX + "- func: fft_mix(Tensor self) -> Tensor\n  python_module: fft\n")
    emitters = files.emitters(job)
    assert set(paths_of(emitters, job)) == {
        f"autograd/python_{name}.cpp"
        for name in (
            *("variable_methods", "nn_functions", "fft_functions", "linalg_functions", "nested_functions"),
            *("sparse_functions", "special_functions", "torch_functionsEverything"),
            *(f"torch_functions_{number}" for number in range(3)),
        )
    }
    texts = slots_of(files.emitters, "python_fft_functions.cpp", job)["py_methods"]
    assert [text.split("\n", 1)[0] for text in texts] == ["// fft_mix"]


def test_comment_names_the_templates_of_the_run(tmp_path: Path) -> None:
    """What the files say of their origin follows the folder of templates."""
    options = Options(autograd_templates="packaged/autograd/templates")
    generation = Generation(Request(open_inputs(), {"autograd": str(tmp_path)}, ("python",), options))
    (emitter,) = [made for made in files.emitters(generation.job) if made.name == "python_nn_functions_source"]
    generation.write(chosen=[emitter])
    comment = "@" + "generated from packaged/autograd/templates/python_nn_functions.cpp"
    assert f"// {comment}\n" in (tmp_path / "python_nn_functions.cpp").read_text()


def test_overloads_that_python_cannot_tell_apart_are_shown() -> None:
    """The diagnostic points to both entries and shows the signature that they share."""
    entries = """
- func: mix(Tensor self, int by) -> Tensor
  variants: method
- func: mix.other(int by, Tensor self) -> Tensor
  variants: method
"""
    (diagnostic,) = refusals(entries)
    assert diagnostic.code == "E1021"
    assert diagnostic.message == "`mix.other` has the same Python signature as `mix`"
    assert diagnostic.notes == ("both are `mix(int64_t by)`",)
    assert [label.span.line for label in diagnostic.labels] == [4, 2]


def test_out_form_without_base_shows_the_candidates() -> None:
    """The notes say in what each overload without `out` differs."""
    entries = """
- func: mix(Tensor self, Scalar by, int times) -> Tensor
- func: mix.one(Tensor self) -> Tensor
- func: mix.out(Tensor self, int by, *, Tensor(a!) out) -> Tensor(a!)
"""
    (diagnostic,) = refusals(entries)
    assert (diagnostic.code, diagnostic.message) == ("E1022", "`mix.out` has no counterpart without `out`")
    assert diagnostic.notes == (
        "`mix` differs: it has `Scalar by` in place of `int64_t by`",
        "`mix.one` differs: it lacks `int64_t by`",
    )
    (alone,) = refusals("- func: only.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n")
    assert alone.notes == ("no overload of `only` is without `out`",)


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ("mix(Tensor self, SymBool by) -> Tensor", "E1024"),
        ("mix(Tensor self) -> (Tensor values, Tensor)", "E1026"),
        ("mix(Tensor self) -> (bool, Tensor)", "E1025"),
        ("mix(int by) -> Tensor\n  dispatch:\n    CPU: mix", "E1023"),
        ("mix(Tensor self, bool requires_grad) -> Tensor", "E1027"),
    ],
)
def test_what_python_cannot_have_is_refused_at_its_entry(schema: str, code: str) -> None:
    """Arguments and results without a form in Python, and factories without options, are diagnostics."""
    (diagnostic,) = refusals(f"- func: {schema}\n")
    assert (diagnostic.code, diagnostic.labels[0].span.line) == (code, 1)


def test_deprecated_signatures_that_are_alike_are_reported_where_they_stand() -> None:
    """The diagnostic is one of `deprecated.yaml`, and points to both signatures."""
    deprecated = """
- name: mix(Scalar by, Tensor self) -> Tensor
  aten: mix(self, by)
- name: mix(Scalar by, Tensor self) -> Tensor
  aten: mix(self, by)
"""
    diagnostics = refusals(MIX, deprecated)
    assert {diagnostic.notes for diagnostic in diagnostics} == {
        ("both are `mix(Scalar by)|deprecated`",),
        ("both are `mix(Scalar by, Tensor input)|deprecated`",),
    }
    for diagnostic in diagnostics:
        places = [(label.span.file.path, label.span.line) for label in diagnostic.labels]
        assert (diagnostic.code, places) == ("E1021", [("deprecated.yaml", 4), ("deprecated.yaml", 2)])


def test_deprecated_out_form_is_compared_with_deprecated_signatures() -> None:
    """Its counterpart is a deprecated signature too."""
    deprecated = """
- name: mix(Scalar by, Tensor self) -> Tensor
  aten: mix(self, by)
- name: mix(Scalar by, Tensor it, *, Tensor(a!) out) -> Tensor(a!)
  aten: mix_out(out, it, by)
"""
    (diagnostic,) = refusals(MIX, deprecated)
    assert diagnostic.message == "deprecated `mix.out` has no counterpart without `out`"
    assert diagnostic.notes == ("deprecated `mix` differs: it has `Tensor self` in place of `Tensor it`",)
    assert diagnostic.labels[0].span.line == 4


def test_all_refusals_are_reported_together() -> None:
    """One run tells of all functions that have no binding, and so does whoever asks for the bindings."""
    entries = """
- func: mix(Tensor self, SymBool by) -> Tensor
- func: tell(Tensor self) -> (bool, Tensor)
- func: still(Tensor self) -> Tensor
"""
    assert [refusal.code for refusal in refusals(entries)] == ["E1024", "E1025"]
    with pytest.raises(FaultsFound) as raised:
        binding_of(entries, "still")
    assert [diagnostic.code for diagnostic in raised.value.diagnostics] == ["E1024", "E1025"]


def test_module_that_is_not_there_is_a_warning() -> None:
    """The function gets no binding, which is hardly what was meant."""
    entries = "- func: special_mix(Tensor self) -> Tensor\n  python_module: specia\n"
    (warning,) = refusals(entries)
    assert (warning.code, warning.help) == ("W1028", "did you mean `special`?")
    assert warning.span is not None
    assert (warning.span.text, warning.span.start) == ("specia", entries.index("specia\n"))
