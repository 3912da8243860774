"""Kernels that are made from a scalar function."""

from __future__ import annotations

import pytest

from opwright.convention import ufunc as convention
from opwright.emit.aten import ufunc
from opwright.emit.emitter import Job, Options
from opwright.model.dispatch_key import CPU
from opwright.model.native_function import UfuncKey
from opwright.source.diagnostic import Fault
from tests.emit.emitting import job_of, paths_of, slots_of

MIX = """
- func: mix(Tensor self, Tensor other, *, Scalar share=1) -> Tensor
  structured_delegate: mix.out
- func: mix.out(Tensor self, Tensor other, *, Scalar share=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: mix (Floating)
    ScalarOnly: mix (Bool)
"""
ONE = """
- func: dim(Tensor self) -> Tensor
  structured_delegate: dim.out
- func: dim.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop: dim (Float)
"""


def definitions(path: str, job: Job) -> str:
    """The definitions of one file."""
    return str(slots_of(ufunc.emitters, path, job)["native_definitions"])


def test_cpu_kernel_goes_through_a_stub() -> None:
    """The CPU kernel calls the stub with all but the tensors."""
    assert (
        definitions("UfuncCPU_mix.cpp", job_of(MIX))
        == """
using mix_fn = void(*)(TensorIteratorBase&, const at::Scalar &);
DECLARE_DISPATCH(mix_fn, mix_stub)
DEFINE_DISPATCH(mix_stub);

TORCH_IMPL_FUNC(ufunc_mix_CPU)(const at::Tensor & self, const at::Tensor & other, const at::Scalar & share, \
const at::Tensor & out) {
  mix_stub(device_type(), *this, share);
}
"""
    )


def test_cpu_loops_by_dtype() -> None:
    """A dtype of `Generic` has a loop over vectors too, one of `ScalarOnly` has not; the latter come first."""
    text = definitions("UfuncCPUKernel_mix.cpp", job_of(MIX))
    assert text.index("ScalarType::Bool") < text.index("ScalarType::Float") < text.index("ScalarType::Double")
    assert text.count("cpu_kernel(iter,") == 1
    assert text.count("cpu_kernel_vec(iter,") == 2
    assert "auto _v_share = at::vec::Vectorized<scalar_t>(_s_share);" in text
    assert "[=](scalar_t self, scalar_t other) { return ufunc::mix(self, other, _s_share); }" in text


def test_cuda_functors() -> None:
    """For two tensors there is a functor for each of them being a scalar, and the kernel picks one."""
    text = definitions("UfuncCUDA_mix.cu", job_of(MIX))
    assert (
        """
template <typename scalar_t>
struct CUDAFunctorOnOther_mix {
  using opmath_t = at::opmath_type<scalar_t>;
  opmath_t self_;
opmath_t share_;
  CUDAFunctorOnOther_mix(opmath_t self, opmath_t share) : self_(self), share_(share) {}
  __device__ scalar_t operator()(scalar_t other) const {
    return ufunc::mix(self_, static_cast<opmath_t>(other), share_);
  }
};
"""
        in text
    )
    assert "CUDAFunctorOnSelf_mix<scalar_t> ufunctor(iter.scalar_value<opmath_t>(2), (share).to<opmath_t>());" in text
    assert "gpu_kernel(iter, CUDAFunctor_mix<scalar_t>((share).to<opmath_t>()));" in text


def test_single_tensor_has_one_functor() -> None:
    """With a single tensor there is nothing to pick."""
    text = definitions("UfuncCUDA_dim.cu", job_of(ONE))
    assert "is_cpu_scalar" not in text
    assert "CUDAFunctorOn" not in text
    assert "gpu_kernel(iter, CUDAFunctor_dim<scalar_t>());" in text


def test_functors_written_by_hand_are_used() -> None:
    """A functor that the entry names is not made."""
    text = definitions("UfuncCUDA_mix.cu", job_of(MIX + "    CUDAFunctorOnSelf: MyFunctor (Float)\n"))
    assert "struct CUDAFunctorOnSelf" not in text
    assert text.count("  MyFunctor<scalar_t> ufunctor(") == 1


def test_rocm_includes_hip_loops() -> None:
    """ROCm builds have the loops' header in another folder."""
    slots = slots_of(ufunc.emitters, "UfuncCUDA_mix.cu", job_of(MIX, Options(rocm=True)))
    assert slots["cuda_headers"] == "#include <ATen/native/hip/Loops.cuh>"


def test_files_of_wanted_backends() -> None:
    """Backends that a run leaves out have no files."""
    job = job_of(MIX, Options(backends=frozenset((CPU,))))
    assert paths_of(ufunc.emitters(job), job) == ["aten/UfuncCPU_mix.cpp", "aten/UfuncCPUKernel_mix.cpp"]


@pytest.mark.parametrize(
    ("entries", "code", "words"),
    [
        (MIX.replace("ScalarOnly: mix", "ScalarOnly: plus"), "E0454", "different functions"),
        (MIX.replace("    Generic: mix (Floating)\n    ScalarOnly: mix", "    CUDAFunctor: mix"), "E0454", "neither"),
        (MIX + "    CPUVector: mix (Int)\n", "E0454", "vectors for Int"),
        (
            ONE.replace(": dim (Float)", ":\n    Generic: dim (Float)\n    CUDAFunctorOnSelf: dim (Float)"),
            "E0454",
            "two",
        ),
        (MIX.replace("Scalar share=1", "int share=1"), "E0455", "`share`"),
    ],
)
def test_loops_that_make_no_kernel(entries: str, code: str, words: str) -> None:
    """Loops that fit together for no kernel are a fault at their entry."""
    with pytest.raises(Fault, match=code) as caught:
        ufunc.ufunc_groups(job_of(entries))
    assert words in str(caught.value)


def test_functor_arguments_are_held_or_passed() -> None:
    """A functor holds scalars, and the tensor that is one, in the wider type; elements are passed as they are."""
    group = ufunc.ufunc_groups(job_of(MIX))[0]
    held, passed = convention.functor_arguments(group, UfuncKey.CUDAFunctorOnSelf)
    assert [binding.definition for binding in held] == ["opmath_t other", "opmath_t share"]
    assert [binding.definition for binding in passed] == ["scalar_t self"]
