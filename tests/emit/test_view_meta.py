"""How views are remembered and replayed."""

from __future__ import annotations

from opwright.convention.functionalization import inverse_declaration
from opwright.emit.aten.view_meta import declaration, emitters, implementation, view_metas
from opwright.emit.emitter import Job
from opwright.model.native_function import ViewGroup
from opwright.model.selection import Selection
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from tests.emit.emitting import job_of, slots_of
from tests.emit.entries import PARTS, TURN, WHOLE


def _group(job: Job, view: str) -> ViewGroup:
    group = job.catalog[view].view_group
    assert group is not None
    return group


def test_class_holds_arguments_by_value() -> None:
    """Lists become vectors in the fields, and are passed to the constructor as references."""
    job = job_of(TURN)
    view, inplace = view_metas(_group(job, "turn"), job)
    assert (view.name, inplace.name) == ("turn_ViewMeta", "turn__ViewMeta")
    text = declaration(view)
    assert "InverseReturnMode inverse_return_mode, c10::SymIntArrayRef by, ::std::optional<c10::SymInt> n)\n" in text
    assert "        by(by.vec()),\n        n(n) {}\n" in text
    assert "  ::std::vector<c10::SymInt> by;\n  ::std::optional<c10::SymInt> n;\n};\n" in text
    assert "/*is_multi_output=*/false, /*is_as_strided=*/false, /*out_index=*/0)" in text


def test_one_of_several_outputs_is_remembered_by_its_index() -> None:
    """A view with a list of outputs takes an index, and can be asked for another output."""
    job = job_of(PARTS)
    (view,) = view_metas(_group(job, "parts"), job)
    text = declaration(view)
    assert "parts_ViewMeta(bool has_symbolic_inputs, int64_t out_index, bool reapply_views, " in text
    assert "/*is_multi_output=*/true, /*is_as_strided=*/false, /*out_index=*/out_index)" in text
    forward, reverse, to_out_index = implementation(view)
    assert "    return at::_ops::parts::call(base, n)[out_index];\n  } else {\n" in forward
    assert "    return at::_ops::parts_copy::call(base, n)[out_index];\n" in forward
    assert "parts_inverse(base, mutated_view, inverse_return_mode, out_index, n);" in reverse
    assert (
        "  return std::make_shared<at::functionalization::parts_ViewMeta>"
        "(has_symbolic_inputs, out_index, reapply_views, inverse_return_mode, n);"
    ) in to_out_index


def test_inplace_view_is_replayed_as_the_view() -> None:
    """The class of an in-place view calls the view, its copying form and its inverse: there are no others."""
    job = job_of(TURN)
    _, inplace = view_metas(_group(job, "turn"), job)
    forward, reverse = implementation(inplace)
    assert forward.startswith("\nat::Tensor turn__ViewMeta::forward(const at::Tensor& base) {")
    assert "at::_ops::turn::call(base, by, n);" in forward
    assert "FunctionalInverses::turn_inverse(base, mutated_view, inverse_return_mode, by, n);" in reverse


def test_inverse_declaration() -> None:
    """The inverse takes base and changed view, the mode, and the view's other arguments."""
    assert inverse_declaration(_group(job_of(TURN), "turn")) == (
        "static at::Tensor turn_inverse(const at::Tensor & base, const at::Tensor & mutated_view, "
        "at::functionalization::InverseReturnMode inverse_return_mode, c10::SymIntArrayRef by, "
        "::std::optional<c10::SymInt> n);"
    )


def test_views_made_of_others_have_no_class() -> None:
    """Composite views have no class, because the views that they call are recorded. Their headers are included."""
    job = job_of(WHOLE)
    assert view_metas(_group(job, "whole"), job) == []
    assert slots_of(emitters, "FunctionalInverses.h", job) == {"view_inverse_declarations": []}
    assert slots_of(emitters, "ViewMetaClasses.cpp", job)["op_headers"] == [
        "#include <ATen/ops/whole_native.h>",
        "#include <ATen/ops/whole_ops.h>",
    ]


def test_selective_builds_keep_only_inverses() -> None:
    """Functionalization is for whole builds; the inverses are written by hand, so their declarations stay."""
    job = job_of(TURN, selection=Selection(everything=False))
    assert slots_of(emitters, "ViewMetaClasses.h", job)["view_meta_declarations"] == []
    assert slots_of(emitters, "ViewMetaClasses.cpp", job)["view_meta_implementations"] == []
    assert slots_of(emitters, "ViewMetaClassesPythonBinding.cpp", job)["view_meta_bindings"] == []
    assert len(slots_of(emitters, "FunctionalInverses.h", job)["view_inverse_declarations"]) == 1


def test_python_binding_of_each_class() -> None:
    """Python sees every class, the view's first."""
    assert slots_of(emitters, "ViewMetaClassesPythonBinding.cpp", job_of(TURN))["view_meta_bindings"] == [
        "  create_binding_with_pickle<at::functionalization::turn_ViewMeta>(functionalization);",
        "  create_binding_with_pickle<at::functionalization::turn__ViewMeta>(functionalization);",
    ]


def test_newer_releases_hold_tensors_by_value() -> None:
    """A tensor argument of a view is a reference in the fields of old releases and a tensor in those of new ones."""
    entries = TURN.replace("SymInt[] by", "Tensor by")
    job = job_of(entries)
    newer = Job(job.catalog, Rules(parse_version("2.14.0")), job.options)
    (old, _), (new, _) = (view_metas(_group(job, "turn"), job) for job in (job, newer))
    assert "  const at::Tensor & by;\n" in declaration(old)
    assert "  at::Tensor by;\n" in declaration(new)


def test_newest_releases_make_one_output_alone() -> None:
    """To replay one output of `unbind` the newest releases select it, and do not make the others."""
    renamed = (
        PARTS.replace("int n", "int dim").replace("parts(", "unbind.int(").replace("parts_copy(", "unbind_copy.int(")
    )
    job = job_of(renamed.replace("autogen: parts_copy.out", "autogen: unbind_copy.int_out"))
    newest = Job(job.catalog, Rules(parse_version("2.15.0")), job.options)
    (old,), (new,) = (view_metas(_group(job, "unbind.int"), job) for job in (job, newest))
    assert "    return at::_ops::unbind_int::call(base, dim)[out_index];\n" in implementation(old)[0]
    assert "    return at::_ops::select_int::call(base, dim, out_index);\n" in implementation(new)[0]
    assert "    return at::_ops::select_copy_int::call(base, dim, out_index);\n" in implementation(new)[0]
