"""Headers of kernels, of shape functions, and of functions that skip the dispatcher."""

from __future__ import annotations

from opwright.emit.aten import dispatch_key_headers, meta_headers, native_headers
from opwright.emit.emitter import Options
from tests.emit.emitting import job_of, paths_of, slots_of

WHOLE = Options(per_operator_headers=False)

TURN = """
- func: turn(Tensor self, SymInt by=1) -> Tensor
  autogen: turn.out
  dispatch:
    CPU: turn_cpu
    CUDA: turn_symint
    MkldnnCPU: turn_cpu
"""

POOL = """
- func: pool(Tensor self, int[2] size) -> Tensor
  structured_delegate: pool.out
- func: pool.out(Tensor self, int[2] size, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: pool_out_cpu
    SparseCPU: pool_out_sparse
"""


def test_each_kernel_is_declared_once() -> None:
    """A kernel that serves several keys is declared once; symbolic kernels take symbolic integers."""
    text = slots_of(native_headers.emitters, "turn_native.h", job_of(TURN))["native_function_declarations"]
    assert (
        text
        == """\
namespace at {
namespace native {
TORCH_API at::Tensor turn_cpu(const at::Tensor & self, int64_t by=1);
TORCH_API at::Tensor turn_symint(const at::Tensor & self, c10::SymInt by=1);
TORCH_API at::Tensor & turn_out_symint(const at::Tensor & self, c10::SymInt by, at::Tensor & out);
} // namespace native
} // namespace at"""
    )


def test_structured_kernel_is_a_class() -> None:
    """A structured kernel is declared as a class with `impl`; kernels for other keys stay functions."""
    slots = slots_of(native_headers.emitters, "pool_native.h", job_of(POOL))
    assert slots["extra_includes"] == "#include <ATen/ops/pool_meta.h>"
    assert slots["native_function_declarations"] == (
        "namespace at {\nnamespace native {\n"
        "struct TORCH_API structured_pool_out_cpu : public at::meta::structured_pool {\n"
        "void impl(const at::Tensor & self, at::IntArrayRef size, const at::Tensor & out);\n"
        "};\n"
        "TORCH_API at::Tensor & pool_out_sparse(const at::Tensor & self, at::IntArrayRef size, at::Tensor & out);\n"
        "} // namespace native\n} // namespace at"
    )


def test_kernels_of_a_library_stand_in_its_namespace() -> None:
    """Kernels are declared in the namespace of the out overload's kernel; `at::native` is opened for keys without."""
    entries = (
        "- func: shed::turn(Tensor self) -> Tensor\n  dispatch:\n    CPU: shed::turn_cpu\n"
        "- func: shed::turn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: shed::turn_out\n"
        "- func: plain(Tensor self) -> Tensor\n"
    )
    slots = slots_of(native_headers.emitters, "NativeFunctions.h", job_of(entries, WHOLE))
    assert (
        slots["NativeFunctions_declarations"]
        == """\
namespace shed {
namespace native {
TORCH_API at::Tensor turn_cpu(const at::Tensor & self);
TORCH_API at::Tensor & turn_out(const at::Tensor & self, at::Tensor & out);
} // namespace native
} // namespace shed

namespace at {
namespace native {
TORCH_API at::Tensor plain(const at::Tensor & self);
} // namespace native
} // namespace at"""
    )


def test_lone_operator_of_a_library_opens_the_usual_namespace_too() -> None:
    """Keys without a kernel open `at::native`, also where no other operator is there to name them."""
    job = job_of("- func: prune(Tensor self) -> Tensor\n  dispatch:\n    CPU: shed::prune\n")
    text = slots_of(native_headers.emitters, "prune_native.h", job)["native_function_declarations"]
    assert isinstance(text, str)
    assert text.endswith(
        "// namespace shed\n\nnamespace at {\nnamespace native {\n} // namespace native\n} // namespace at"
    )


def test_operator_without_kernels_has_an_empty_namespace() -> None:
    """The header of an operator that declares nothing opens and closes the namespace."""
    entry = "- func: turn(Tensor self) -> Tensor\n  autogen: turn.out\n  dispatch:\n    CPU: legacy::turn\n"
    text = str(slots_of(native_headers.emitters, "turn_native.h", job_of(entry))["native_function_declarations"])
    assert "legacy::" not in text
    assert text.startswith("namespace at {\nnamespace native {\n")


def test_meta_class_has_the_shape_function() -> None:
    """The class of a structured operation derives from MetaBase, or from what `structured_inherits` names."""
    job = job_of(POOL)
    group = job.catalog.structured_groups[0]
    assert (
        meta_headers.meta_class(group)
        == """\
struct TORCH_API structured_pool : public at::impl::MetaBase {


    void meta(const at::Tensor & self, at::IntArrayRef size);
};
"""
    )
    inherits = POOL.replace("structured: True", "structured: True\n  structured_inherits: TensorIteratorBase")
    group = job_of(inherits).catalog.structured_groups[0]
    assert "struct TORCH_API structured_pool : public TensorIteratorBase {" in meta_headers.meta_class(group)


def test_precomputed_values_are_set_one_by_one() -> None:
    """What `meta` computes for `impl` is a struct with a flag and a setter for each value."""
    precomputed = POOL.replace(
        "structured: True", "structured: True\n  precomputed:\n  - size -> int height\n  - bool odd"
    )
    job = job_of(precomputed)
    text = meta_headers.meta_class(job.catalog.structured_groups[0])
    assert "template <bool HEIGHT = false, bool ODD = false>" in text
    assert "precompute_out<true, ODD> set_height(int64_t value) {" in text
    assert 'static_assert(ODD == false, "odd already set");' in text
    assert "ret.height = this->height;\nret.odd = value;\nreturn ret;" in text
    assert "using meta_return_ty = precompute_out <true, true>;" in text
    assert "meta_return_ty meta(const at::Tensor & self, at::IntArrayRef size);" in text
    declared = slots_of(native_headers.emitters, "pool_native.h", job)["native_function_declarations"]
    assert "void impl(const at::Tensor & self, int64_t height, bool odd, const at::Tensor & out);" in str(declared)


def test_direct_functions_are_declared_where_a_backend_wraps_them() -> None:
    """Each key with a functions header declares what it has wrappers for, with all signatures of the public API."""
    job = job_of(TURN)
    paths = paths_of(dispatch_key_headers.emitters(job), job)
    assert "ops/turn_cpu_dispatch.h" in paths
    assert "ops/turn_compositeexplicitautograd_dispatch.h" in paths
    assert "ops/turn_mkldnncpu_dispatch.h" not in paths
    slots = slots_of(dispatch_key_headers.emitters, "turn_cuda_dispatch.h", job)
    assert slots == {
        "dispatch_namespace": "cuda",
        "dispatch_namespaced_declarations": [
            "TORCH_API at::Tensor turn(const at::Tensor & self, int64_t by=1);\n"
            "TORCH_API at::Tensor turn_symint(const at::Tensor & self, c10::SymInt by=1);"
        ],
    }


def test_functions_written_by_hand_have_direct_functions_of_plain_names() -> None:
    """`manual_cpp_binding` renames the public function alone."""
    entry = "- func: turn(Tensor self) -> Tensor\n  manual_cpp_binding: True\n  dispatch:\n    CPU: turn_cpu\n"
    text = str(slots_of(dispatch_key_headers.emitters, "turn_cpu_dispatch.h", job_of(entry)))
    assert "TORCH_API at::Tensor turn(const at::Tensor & self);" in text
    assert "__dispatch_" not in text


def test_structured_operations_are_wrapped_under_keys_made_for_them() -> None:
    """Every structured operation has Meta wrappers, and ones that call the out overload, which has none itself."""
    # Keys that no entry names have nothing.
    assert paths_of(dispatch_key_headers.emitters(job_of(POOL)), job_of(POOL)).count("ops/pool_meta_dispatch.h") == 0
    other = "- func: {0}(Tensor self) -> Tensor\n  autogen: {0}.out\n  dispatch:\n    {1}: {0}_kernel\n"
    job = job_of(POOL + other.format("a", "Meta") + other.format("b", "CompositeExplicitAutogradNonFunctional"))
    meta = str(slots_of(dispatch_key_headers.emitters, "pool_meta_dispatch.h", job))
    made = str(slots_of(dispatch_key_headers.emitters, "pool_compositeexplicitautogradnonfunctional_dispatch.h", job))
    assert "pool_outf" in meta
    assert "at::Tensor pool(" in made
    assert "pool_out" not in made


def test_all_direct_functions_in_one_header() -> None:
    """Without headers per operator the declarations are in the namespace that goes with the kernels'."""
    job = job_of(TURN, WHOLE)
    slots = slots_of(dispatch_key_headers.emitters, "CPUFunctions_inl.h", job)
    assert slots["DispatchKeyFunctions_inl_includes"] == []
    assert str(slots["dispatch_namespaced_declarations"]).startswith("namespace at {\nnamespace cpu {\nTORCH_API")
    assert paths_of(dispatch_key_headers.emitters(job), job).count("aten/CPUFunctions.h") == 1
