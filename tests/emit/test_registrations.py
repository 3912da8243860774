"""Schemas, factories and lists of names: what is registered and what is told about it."""

from __future__ import annotations

from opwright.emit.aten import backend_select, names, schemas
from opwright.emit.aten.registration_declarations import declaration
from opwright.emit.emitter import Options
from opwright.model.selection import SelectedOperator, Selection
from tests.emit.emitting import job_of, slots_of

TAGGED = """
- func: apple(Tensor self) -> Tensor
  tags: [pointwise, core]
- func: pear(Tensor self) -> Tensor
  tags: [core, pointwise]
- func: crate::plum(Tensor self) -> Tensor
- func: crate::fig(Tensor self) -> Tensor
"""


def test_equal_sets_of_tags_share_a_vector() -> None:
    """A set of tags is written where it first occurs, in order; without tags there is none."""
    slots = slots_of(schemas.emitters, "RegisterSchema.cpp", job_of(TAGGED))
    tags = "at::Tag::core, at::Tag::pointwise, at::Tag::pt2_compliant_tag"
    assert slots["aten_schema_registrations"] == [
        f'const std::vector<at::Tag> tags_0 = {{{tags}}};\nm.def("apple(Tensor self) -> Tensor", tags_0);\n',
        'm.def("pear(Tensor self) -> Tensor", tags_0);\n',
    ]
    assert slots["schema_registrations"] == [
        "\n",
        """\
TORCH_LIBRARY(crate, m) {
  m.def("plum(Tensor self) -> Tensor", {});
\tm.def("fig(Tensor self) -> Tensor", {});

};""",
    ]


def test_known_namespaces_get_a_fragment() -> None:
    """The library of quantized operators is opened elsewhere, so schemas are added to it."""
    slots = slots_of(schemas.emitters, "RegisterSchema.cpp", job_of("- func: quantized::plum(Tensor self) -> Tensor\n"))
    assert slots["schema_registrations"][1].startswith("TORCH_LIBRARY_FRAGMENT(quantized, m) {\n")


def test_selection_leaves_schemas_out() -> None:
    """Only selected overloads are registered, unless all schemas are asked for, or none."""
    selection = Selection(everything=False, operators={"aten::pear": SelectedOperator("aten::pear")})

    def registered(options: Options) -> int:
        slots = slots_of(schemas.emitters, "RegisterSchema.cpp", job_of(TAGGED, options, selection))
        return "".join([*slots["aten_schema_registrations"], *slots["schema_registrations"]]).count("m.def(")

    assert registered(Options()) == 1
    assert registered(Options(force_schema_registration=True)) == 4
    assert registered(Options(force_schema_registration=True, skip_dispatcher_registration=True)) == 0


OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
FACTORIES = f"""
- func: make(int n, *, {OPTIONS}) -> Tensor
  dispatch:
    CPU: make
- func: make.near(Tensor other, *, {OPTIONS}) -> Tensor
  dispatch:
    CPU: make_near
- func: make_like(Tensor self, *, {OPTIONS}) -> Tensor
  dispatch:
    CPU: make_like
- func: new_make(Tensor self, *, {OPTIONS}) -> Tensor
  variants: method
  dispatch:
    CPU: new_make
"""


def test_factories_find_their_backend_from_options() -> None:
    """The kernel of a factory works out the key from the options, and goes on from it with all arguments."""
    job = job_of(FACTORIES)
    assert [str(function.name) for function in backend_select.factories(job)] == ["make", "make.near"]
    assert (
        backend_select.definition(job.catalog["make"])
        == f"""\
// aten::make(int n, *, {OPTIONS}) -> Tensor
C10_ALWAYS_INLINE
at::Tensor make(int64_t n, ::std::optional<at::ScalarType> dtype, ::std::optional<at::Layout> layout, ::std::optional<at::Device> device, ::std::optional<bool> pin_memory) {{
  DispatchKeySet _dk = c10::DispatchKeySet(c10::computeDispatchKey(dtype, layout, device));
  return at::_ops::make::redispatch(
      _dk, n, dtype, layout, device, pin_memory);
}}
"""  # noqa: E501
    )


def test_tensors_take_part_in_the_choice_of_a_backend() -> None:
    """A factory with tensor arguments joins their keys, below BackendSelect."""
    text = backend_select.definition(job_of(FACTORIES).catalog["make.near"])
    assert "| c10::detail::multi_dispatch_key_set(other);\nDispatchKeySet _dk_mask" in text


def test_symbols_leave_out_what_cpp_spells_otherwise() -> None:
    """In-place names have their base name as a symbol too, and words of C++ are none."""
    job = job_of("- func: __and__(Tensor self) -> Tensor\n- func: turn_(Tensor(a!) self, int n) -> Tensor(a!)\n")
    slots = slots_of(names.emitters, "aten_interned_strings.h", job)
    assert slots["aten_symbols"] == "_(aten, __and__) \\\n_(aten, turn) \\\n_(aten, turn_)"
    assert slots["attr_symbols"] == "_(attr, n) \\\n_(attr, self)"


def test_backends_are_told_what_they_need_not_write() -> None:
    """`dispatch` is false for a decomposition alone; `default` is true where a composite kernel exists."""
    job = job_of(
        '- func: turn(Tensor self, str way="left") -> Tensor\n'
        "- func: pull(Tensor self) -> Tensor\n  dispatch:\n    CPU: pull_cpu\n"
        "- func: push(Tensor self) -> Tensor\n  dispatch:\n    CompositeExplicitAutograd: push_any\n"
    )
    assert declaration(job.catalog["turn"]) == (
        "at::Tensor turn(const at::Tensor & self, c10::string_view way); // "
        r'{"schema": "aten::turn(Tensor self, str way=\"left\") -> Tensor", "dispatch": "False", "default": "True"}'
        "\n"
    )
    assert declaration(job.catalog["pull"]).endswith('"dispatch": "True", "default": "False"}\n')
    assert declaration(job.catalog["push"]).endswith('"dispatch": "True", "default": "True"}\n')
