"""Declarations of kernels, registrations of schemas and static calls are those of PyTorch's generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.torchgen_interface.conftest import Side
from tests.torchgen_interface.equality import difference, outcome
from tests.torchgen_interface.test_wrappers import lines

#: The dispatch keys of builds with static calls: those with a kernel for all devices, and several devices.
STATIC_KEYS = (
    ["CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"],
    ["CPU", "CUDA", "QuantizedCPU"],
)

ENTRIES = """\
- func: foo(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA: foo_any
- func: acme::bar(Tensor self, str s="a\\"b") -> Tensor
  tags: [pointwise, core]
  dispatch:
    CPU: acme::bar_cpu
    CompositeExplicitAutograd: acme::bar_any
- func: acme::unused(Tensor self) -> Tensor
  tags: core
- func: quantized::baz(SymInt a) -> int
  tags: core
"""


def signatures(side: Side, function: Any) -> list[Any]:
    """Signatures of an overload from which static calls are made."""
    types = side.module("api.types")
    public = types.CppSignatureGroup.from_native_function(function, method=False)
    return [types.DispatcherSignature.from_schema(function.func), *list(public.signatures())[:2]]


def static_calls(side: Side, function: Any) -> Iterator[Any]:
    """The static calls of an overload from each of its signatures."""
    gen, keys, indices = side.module("gen"), side.module("model").DispatchKey, side.parsed.backend_indices
    for signature in signatures(side, function):
        for names in STATIC_KEYS:
            backends = [indices[keys[name]] for name in names]
            yield [str(signature), names, outcome(gen.static_dispatch, signature, function, backends)]
            yield outcome(gen.generate_static_dispatch_fallback_call, signature, function, backends)
        yield outcome(gen.generate_static_dispatch_backend_call, signature, function, indices[keys["CPU"]])
        yield outcome(gen.translate_args, signature, signatures(side, function)[-1])


def test_static_calls_are_equal(reference: Side, own: Side) -> None:
    """Calls from signatures of every fourth overload, for several sets of dispatch keys."""
    functions = [side.parsed.native_functions[::4] for side in (reference, own)]
    for theirs, ours in zip(*functions, strict=True):
        with reference.module("context").native_function_manager(theirs):
            expected = list(static_calls(reference, theirs))
        with own.module("context").native_function_manager(ours):
            actual = list(static_calls(own, ours))
        assert not difference(expected, actual, str(ours.func))


@pytest.mark.parametrize("name", ["cat", "sum.dim_IntList", "_foreach_add_.List", "index.Tensor"])
def test_calls_do_not_depend_on_the_current_function(reference: Side, own: Side, name: str) -> None:
    """Programs that make calls of many functions choose the types once."""
    texts = []
    for side in (reference, own):
        function = next(f for f in side.parsed.native_functions if str(f.func.name) == name)
        choices = {"use_const_ref_for_mutable_tensors": False, "use_ilistref_for_tensor_lists": False}
        with side.module("local").parametrize(**choices):
            texts.append(list(static_calls(side, function)))
    assert not difference(texts[0], texts[1], name)


def test_builds_without_static_calls_have_no_body(own: Side) -> None:
    """Without dispatch keys the text is empty."""
    function = own.parsed.native_functions[0]
    assert not own.module("gen").static_dispatch(signatures(own, function)[0], function, [])


def texts(side: Side, parsed: Any) -> Iterator[Any]:
    """The declarations of the kernels and the registrations of the schemas of functions."""
    gen, selector = side.module("gen"), side.module("selective_build.selector").SelectiveBuilder
    groups = gen.get_grouped_native_functions(parsed.native_functions)
    declared = gen.get_native_function_declarations(
        grouped_native_functions=groups,
        backend_indices=parsed.backend_indices,
        native_function_decl_gen=side.module("dest").compute_native_function_declaration,
    )
    yield lines("\n".join(declared))
    yield [lines(gen.compute_meta_function_declaration(group)) for group in groups if hasattr(group, "functional")]
    chosen = {"aten::foo", "acme::bar", "aten::add.Tensor"}
    for selection in (
        selector.get_nop_selector(),
        selector.from_legacy_op_registration_allow_list(chosen, False, False),
    ):
        own, libraries = gen.get_native_function_schema_registrations(
            native_functions=parsed.native_functions, schema_selector=selection
        )
        yield [own, lines(libraries)]


def element_kernels(side: Side, entry: str) -> Iterator[Any]:
    """The kernels that are made from a function of one element."""
    model, dest, api = side.module("model"), side.module("dest"), side.module("api.ufunc")
    parsed = entries(side, entry) if entry else side.parsed
    key, types = model.DispatchKey, side.module("api.types")
    for group in side.module("gen").get_grouped_native_functions(parsed.native_functions):
        if hasattr(group, "functional") and group.out.ufunc_inner_loop:
            for make in (dest.compute_ufunc_cpu, dest.compute_ufunc_cpu_kernel, dest.compute_ufunc_cuda):
                yield lines(outcome(make, group))
            yield [api.kernel_name(group, key.CPU), api.kernel_name(group, key.CUDA)]
            for bindings in (
                api.stub_arguments(group),
                api.ufunc_arguments(group, compute_t=types.BaseCType(types.longT)),
            ):
                yield [binding.decl() for binding in bindings]


TERNARY = """\
- func: add3(Tensor self, Tensor other, Scalar alpha) -> Tensor
  structured_delegate: add3.out
- func: add3.out(Tensor self, Tensor other, Scalar alpha, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  ufunc_inner_loop:
    ScalarOnly: add3 (Bool)
    Generic: add3 (AllAndComplex, BFloat16)
"""


@pytest.mark.parametrize("entry", ["", TERNARY], ids=["PyTorch", "entry"])
def test_element_kernels_are_equal(reference: Side, own: Side, entry: str) -> None:
    """Those of PyTorch's group with loops, and of an entry."""
    expected, actual = list(element_kernels(reference, entry)), list(element_kernels(own, entry))
    assert len(actual) == 6
    assert not difference(expected, actual)


def test_loops_that_make_no_kernel_are_refused(own: Side) -> None:
    """Functions of two names are refused, for CPU and CUDA alike."""
    expected = ["AssertionError"]
    assert list(element_kernels(own, TERNARY.replace("Generic: add3", "Generic: add4")))[:3] == [expected] * 3


def entries(side: Side, text: str) -> Any:
    """The functions of a file, without those made from them."""
    yaml = pytest.importorskip("yaml")
    values = yaml.load(text, Loader=side.module("gen").LineLoader)
    return side.module("gen").parse_native_yaml_struct(values, {"pointwise", "core"}, skip_native_fns_gen=True)


def test_declarations_and_registrations_are_equal(reference: Side, own: Side) -> None:
    """Those of PyTorch's operators, and those of a file with three namespaces."""
    assert not difference(list(texts(reference, reference.parsed)), list(texts(own, own.parsed)), "PyTorch")
    expected, actual = [list(texts(side, entries(side, ENTRIES))) for side in (reference, own)]
    assert not difference(expected, actual, "entries")
    assert "TORCH_LIBRARY_FRAGMENT(quantized, m) {" in actual[2][1]


def test_kernels_of_a_unit_are_in_one_namespace(own: Side) -> None:
    """A unit with kernels in two namespaces is named in the error."""
    parsed = entries(own, ENTRIES.replace("acme::bar_any", "bar_any"))
    with pytest.raises(AssertionError, match=r"kernels of `bar` are in several namespaces: acme::native, at::native"):
        list(texts(own, parsed))
