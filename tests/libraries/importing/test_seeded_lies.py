"""Each way in which a port may differ from its original is told: one library has a lie of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main

HEAD = """\
import os

import torch

library = torch.library.Library("acme_lies", "DEF")


def define(name, schema, kernel=None, key="CPU", **more):
    library.define(name + schema, **more)
    if kernel is not None:
        library.impl(name, kernel, key)


def nothing(result):
    return None


def refuse(kind, text):
    raise kind(text)


def sine(factor, *, twice=True):
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            with torch._C._AutoDispatchBelowAutograd():
                return x.sin()

        @staticmethod
        def backward(context, gradient):
            (x,) = context.saved_tensors
            return gradient * (x.cos() * factor if twice else x.detach().cos())

    return Sine.apply


def sine_with(second):
    class Cosine(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x.cos()

        @staticmethod
        def backward(context, gradient):
            return gradient * context.saved_tensors[0].sin() * second

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(context, gradient):
            return gradient * Cosine.apply(context.saved_tensors[0])

    return Sine.apply


class ViewOfNothing(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        with torch._C._AutoDispatchBelowADInplaceOrView():
            return x.view(3)[1:]

    @staticmethod
    def backward(context, gradient):
        return torch.nn.functional.pad(gradient, (1, 0))

"""
_X = "(Tensor x) -> Tensor"
_TO = "(Tensor x, Tensor(a!) out) -> ()"

#: A lie -> the original, the port, the arguments of a call, and what is told. `{}` is the name of the operator.
LIES = {
    "default": ('define("{}", "(Tensor x, int n=1) -> Tensor")', "n=1", "n=2", "", "changed: {}: its schema"),
    "keyword_only": ('define("{}", "(Tensor x, int n=1) -> Tensor")', "x, int", "x, *, int", "", "changed: {}: its"),
    "written_schema": ('define("{}", "(Tensor x) -> ()")', "Tensor x", "Tensor(a!) x", "", "changed: {}: its schema"),
    "tag": ('define("{}", "() -> int", tags=torch.Tag.core)', "tags=torch.Tag.core", "", "", "changed: {}: its tags"),
    "alias_analysis": ('define("{}", "() -> int", alias_analysis="CONSERVATIVE")', "CONSERVATIVE", "", "", "its alias"),
    "operator": ('define("{}", "() -> int")', 'define("{}"', 'define("{}_"', "", "lost: {}: the port does not"),
    "key": (f'define("{{}}", "{_X}", lambda x: x + 1, "CUDA")', "CUDA", "XPU", "", "lost: {}: its kernel for CUDA"),
    "fallthrough": (
        f'define("{{}}", "{_X}", lambda x: x, "AutogradCPU")',
        "lambda x: x",
        "torch.library.fallthrough_kernel",
        "",
        "a kernel for AutogradCPU is a fallthrough in the port",
    ),
    "composite": (
        f'define("{{}}", "{_X}", lambda x: x + 1, "CompositeImplicitAutograd")',
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
        "",
        "lost: {}: its kernel for CompositeImplicitAutograd",
    ),
    "fake_lost": (
        f'define("{{}}", "{_X}"); torch.library.register_fake("acme_lies::{{}}", lambda x: x)',
        "torch.library.register_fake",
        "print",
        "",
        "lost: {}: a fake",
    ),
    "mode_rule": (
        f'define("{{}}", "{_X}"); '
        'torch.library.register_torch_dispatch("acme_lies::{}", '
        "torch.utils._python_dispatch.TorchDispatchMode, lambda m, f, t, a, k: 1)",
        "torch.library.register_torch_dispatch",
        "print",
        "",
        "lost: {}: a rule for a mode",
    ),
    "kernel_of_an_overload": (
        f'define("{{}}", "{_X}"); torch.ops.acme_lies.{{}}.default.py_impl(torch._C.DispatchKey.AutogradCPU)(nothing)',
        "torch.ops.acme_lies.{}.default.py_impl(torch._C.DispatchKey.AutogradCPU)",
        "print",
        "",
        "lost: {}: a kernel of `py_impl` for AutogradCPU",
    ),
    "effect": (
        f'define("{{}}", "{_X}"); '
        'torch.library._register_effectful_op("acme_lies::{}", torch._library.effects.EffectType.ORDERED)',
        "torch.library._register_effectful_op",
        "print",
        "",
        "lost: {}: the effect ORDERED in Python",
    ),
    "write_lost": (
        f'define("{{}}", "{_TO}", lambda x, out: nothing(out.copy_(x)))',
        "copy_(x)",
        "copy_(out)",
        "x, y",
        "the original writes `out`, and the port does not",
    ),
    "write_undeclared": (
        f'define("{{}}", "{_X}", lambda x: x.sin())',
        "x.sin()",
        "x.sin_().clone()",
        "x",
        "the port writes `x`, and the original does not",
    ),
    "write_values": (
        f'define("{{}}", "{_TO}", lambda x, out: nothing(out.copy_(x)))',
        "copy_(x)",
        "copy_(-x)",
        "x, y",
        "`out` has something else in it afterwards: 3 of 3 values",
    ),
    "version": (
        f'define("{{}}", "{_TO}", lambda x, out: nothing(out.copy_(x)))',
        "out.copy_(x)",
        "out.data.copy_(x)",
        "x, y",
        "lost: {}: in 1 call, such as (float32[3], float32[3]): the version of `out` counts",
    ),
    "alias_result": (
        'define("{}", "(Tensor x) -> Tensor", lambda x: x[1:].clone())',
        ".clone()",
        "",
        "x",
        "result 0 has memory of `x` in the port",
    ),
    "alias_lost": (
        'define("{}", "(Tensor(a) x) -> Tensor(a)", lambda x: x[1:])',
        "x[1:])",
        "x[1:].clone())",
        "x",
        "result 0 has memory of `x` in the original, and no result",
    ),
    "same_result": (
        'define("{}", "(Tensor(a!) x) -> Tensor(a!)", lambda x: x.sin_())',
        "x.sin_()",
        "x.sin_().view(3)",
        "x",
        "result 0 is `x` in the original, and result 0 has memory of `x` in the port",
    ),
    "dtype": (
        f'define("{{}}", "{_X}", lambda x: x + 1)',
        "x + 1",
        "(x + 1).double()",
        "x",
        "dtype float32 in the original, and float64",
    ),
    "sizes": (
        f'define("{{}}", "{_X}", lambda x: x + 1)',
        "x + 1",
        "(x + 1)[None]",
        "x",
        "sizes [3] in the original, and [1, 3]",
    ),
    "strides": (
        f'define("{{}}", "{_X}", lambda x: x + 1)',
        "x + 1",
        "(x + 1).t().contiguous().t()",
        "x2",
        "strides [3, 1] in the original, and [1, 2]",
    ),
    "values": (f'define("{{}}", "{_X}", lambda x: x + 1)', "x + 1", "x + 1.01", "x", "results differ: 3 of 3 values"),
    "grad_mode": (
        f'define("{{}}", "{_X}", lambda x: x.detach() + torch.is_grad_enabled())',
        "torch.is_grad_enabled()",
        "0",
        "x",
        "with arguments that require gradients, results differ: 3 of 3 values",
    ),
    "condition": (
        f'define("{{}}", "{_X}", lambda x: x * 2 if x.numel() > 5 else x + 1)',
        "> 5",
        "> 6",
        "x2",
        "results differ",
    ),
    "nan": (f'define("{{}}", "{_X}", lambda x: x / 0)', "x / 0", "(x / 0).nan_to_num()", "x", "results differ"),
    "count": (
        'define("{}", "(Tensor x) -> Tensor[]", lambda x: [x + 1, x + 2])',
        ", x + 2",
        "",
        "x",
        "2 in the original, and 1 in the port",
    ),
    "none": (
        'define("{}", "(Tensor x) -> Tensor?", lambda x: None)',
        "None",
        "x + 1",
        "x",
        "no tensor in the original, and a tensor in the port",
    ),
    "mapping": (
        'define("{}", "(Tensor x) -> Dict(str, Tensor)", lambda x: {"a": x + 1})',
        "x + 1",
        "x + 1.000001",
        "x64",
        "results differ: number 1: 3 of 3 values",
    ),
    "number": ('define("{}", "(Tensor x) -> int", lambda x: 7)', "7", "8", "x", "7 in the original, and 8 in the port"),
    "text": (
        'define("{}", "(Tensor x) -> str", lambda x: "a")',
        '"a"',
        '"b"',
        "x",
        "'a' in the original, and 'b' in the port",
    ),
    "error_text": (
        f'define("{{}}", "{_X}", lambda x: refuse(ValueError, "x is odd"))',
        "odd",
        "even",
        "x",
        "it raises `ValueError: x is odd` in the original, and `ValueError: x is even`",
    ),
    "error_type": (
        f'define("{{}}", "{_X}", lambda x: refuse(ValueError, "odd"))',
        "ValueError",
        "TypeError",
        "x",
        "it raises `ValueError: odd` in the original, and `TypeError: odd`",
    ),
    "error_lost": (
        f'define("{{}}", "{_X}", lambda x: refuse(ValueError, "odd"))',
        'refuse(ValueError, "odd")',
        "x + 1",
        "x",
        "added: {}: in 1 call, such as (float32[3]): it gives a result, and the original raises",
    ),
    "error_added": (
        f'define("{{}}", "{_X}", lambda x: x + 1)',
        "x + 1",
        'refuse(ValueError, "odd")',
        "x",
        "lost: {}: in 1 call, such as (float32[3]): it raises `ValueError: odd`",
    ),
    "gradient_lost": (
        f'define("{{}}", "{_X}", lambda x: x.sin())',
        "x.sin()",
        "x.detach().sin()",
        "x",
        "it records no gradients, and the original gives gradients",
    ),
    "gradient": (
        f'define("{{}}", "{_X}", sine(1), "Autograd"); library.impl("{{}}", torch.sin, "CPU")',
        "sine(1)",
        "sine(2)",
        "x",
        "gradients differ: 3 of 3 values",
    ),
    "gradient_refused": (
        f'define("{{}}", "{_X}", sine(1), "Autograd"); library.impl("{{}}", torch.sin, "CPU")',
        "sine(1)",
        "lambda x: refuse(ValueError, 'no gradient') if x.requires_grad else torch.sin(x)",
        "x",
        "with arguments that require gradients, it raises `ValueError: no gradient`",
    ),
    "gradient_error": (
        f'define("{{}}", "{_X}", sine("odd"), "Autograd"); library.impl("{{}}", torch.sin, "CPU")',
        'sine("odd")',
        "sine(torch.ones(2))",
        "x",
        "the backward pass raises `TypeError: ",
    ),
    "view": (
        'define("{}", "(Tensor(a) x) -> Tensor(a)", lambda x: x[1:], "CompositeImplicitAutograd")',
        "x[1:]",
        "ViewOfNothing.apply(x)",
        "x",
        "lost: {}: in 1 call, such as (float32[3]): result 0 is a view for autograd in the original alone",
    ),
    "second_gradient_lost": (
        f'define("{{}}", "{_X}", sine_with(-1), "Autograd"); library.impl("{{}}", torch.sin, "CPU")',
        "sine_with(-1)",
        "sine(1, twice=False)",
        "x",
        "second gradients",
    ),
    "second_gradient": (
        f'define("{{}}", "{_X}", sine_with(-1), "Autograd"); library.impl("{{}}", torch.sin, "CPU")',
        "sine_with(-1)",
        "sine_with(1)",
        "x",
        "second gradients differ",
    ),
    "fake": (
        f'define("{{}}", "{_X}", lambda x: x + 1); library.impl("{{}}", lambda x: torch.empty_like(x), "Meta")',
        "empty_like(x)",
        "empty_like(x[1:])",
        "x",
        "with fake tensors, results differ: sizes [3] in the original, and [2]",
    ),
    "vmap_rule": (
        f'define("{{}}", "{_X}", lambda x: x + 1); '
        'torch.library.register_vmap("acme_lies::{}", lambda i, d, x: (x + 1, d[0]))',
        "(x + 1, d[0])",
        "(x, d[0])",
        "x",
        "under `vmap`, results differ",
    ),
    "vmap_lost": (
        f'define("{{}}", "{_X}", lambda x: x + 1); '
        'torch.library.register_vmap("acme_lies::{}", lambda i, d, x: (x + 1, d[0]))',
        "torch.library.register_vmap",
        "print",
        "",
        "lost: {}: its kernel for FuncTorchBatched",
    ),
    "autocast": (
        f'define("{{}}", "{_X}", lambda x: x + 1); library.impl("{{}}", lambda x: x.bfloat16(), "AutocastCPU")',
        "x.bfloat16()",
        "x.half()",
        "x",
        "under autocast, results differ: dtype bfloat16 in the original, and float16",
    ),
    "autocast_lost": (
        f'define("{{}}", "{_X}", lambda x: x + 1); library.impl("{{}}", lambda x: x.bfloat16(), "AutocastCPU")',
        '"AutocastCPU"',
        '"AutocastXPU"',
        "",
        "lost: {}: its kernel for AutocastCPU",
    ),
    "fake_of_nothing": (
        f'define("{{}}", "{_X}", lambda x: x + 1); library.impl("{{}}", lambda x: torch.empty_like(x), "Meta")',
        "empty_like(x)",
        "empty_like(x if x.numel() else x.sum()[None])",
        "x0",
        "with fake tensors, results differ: sizes [0, 2] in the original, and [1]",
    ),
    "fake_dtype": (
        f'define("{{}}", "{_X}", lambda x: x + 1); library.impl("{{}}", lambda x: torch.empty_like(x), "Meta")',
        "empty_like(x)",
        "empty_like(x, dtype=torch.double)",
        "x",
        "with fake tensors, results differ: dtype float32 in the original, and float64",
    ),
    "fake_strides": (
        f'define("{{}}", "{_X}", lambda x: x + 1); library.impl("{{}}", lambda x: torch.empty_like(x), "Meta")',
        "empty_like(x)",
        "empty_like(x).t().contiguous().t()",
        "x2",
        "with fake tensors, results differ: strides [3, 1] in the original, and [1, 2]",
    ),
    "nothing": (
        f'define("{{}}", "{_X}", lambda x: x + 1)',
        "x + 1",
        "x + 1 if x.numel() else x.new_zeros(1)",
        "x0",
        "results differ: sizes [0, 2] in the original, and [1]",
    ),
    "gradient_of_one": (
        'define("{}", "(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y)',
        "x * y",
        "x * y.detach()",
        "x, y",
        "gradients differ: number 1: a tensor in the original, and no tensor in the port",
    ),
    "swapped": (
        'define("{}", "(Tensor x) -> (Tensor, Tensor)", lambda x: (x + 1, x + 2))',
        "(x + 1, x + 2)",
        "(x + 2, x + 1)",
        "x",
        "results differ: number 0: 3 of 3 values",
    ),
    "write_of_a_list": (
        'define("{}", "(Tensor x, Tensor(a!)[] outs) -> ()", lambda x, outs: nothing([out.copy_(x) for out in outs]))',
        "for out in outs",
        "for out in outs[:1]",
        "x, ys",
        "the original writes `outs`, and the port does not",
    ),
    "form_of_an_argument": (
        f'define("{{}}", "{_TO}", lambda x, out: nothing(out.copy_(x)))',
        "out.copy_(x)",
        "out.copy_(x).unsqueeze_(0)",
        "x, y",
        "`out` has something else in it afterwards: sizes [3] in the original, and [1, 3]",
    ),
    "form_of_a_read_argument": (
        f'define("{{}}", "{_X}", lambda x: x + 1)',
        "x + 1",
        "x.t_() + 1",
        "xx",
        "the port writes `x`, and the original does not",
    ),
    "sparse": (
        f'define("{{}}", "{_X}", lambda x: x + 1)',
        "x + 1",
        "(x + 1).to_sparse()",
        "x",
        "results differ",
    ),
    "precision": (
        f'define("{{}}", "{_X}", lambda x: x.sin())',
        "x.sin()",
        "x.float().sin().double()",
        "x64",
        "results differ: 3 of 3 values",
    ),
    "conjugate": (
        f'define("{{}}", "{_X}", lambda x: x.conj() + 0)',
        "x.conj() + 0",
        "(x + 0).conj()",
        "complex",
        "results differ: dtype complex64 in the original, and conjugate of complex64",
    ),
    "forward_mode": (
        f'define("{{}}", "{_X}", lambda x: x.sin(), "CompositeImplicitAutograd")',
        "x.sin()",
        "sine(1)(x)",
        "x",
        "with tangents, the original gives these of its results, and the port raises",
    ),
    "process_ends": (
        f'define("{{}}", "{_X}", lambda x: x + 1)',
        "x + 1",
        "os._exit(7)",
        "x",
        "it does not in the original, and the process ends (exit status 7) in the port",
    ),
}
ARGUMENTS = {
    "x": "[x]",
    "x2": "[torch.rand(2, 3)]",
    "xx": "[torch.ones(3, 3)]",
    "x0": "[torch.rand(0, 2)]",
    "x64": "[x.double()]",
    "x, y": "[x, torch.zeros(3)]",
    "x, ys": "[x, [torch.zeros(3), torch.zeros(3)]]",
    "complex": "[torch.complex(x, x)]",
}


#: Lies that the quick test has besides those that need no call.
QUICK = ("write_lost", "gradient_lost", "error_text", "fake")


@pytest.mark.parametrize("chosen", ["quick", pytest.param("all", marks=pytest.mark.thorough)])
@pytest.mark.usefixtures("torch")
def test_lies_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chosen: str
) -> None:
    """Each lie is a difference of its operator, and a copy has none."""
    assert len(LIES) >= 30
    lies = {name: lie for name, lie in LIES.items() if chosen == "all" or name in QUICK or not lie[3]}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    originals = {name: original.replace("{}", name) for name, (original, *_) in lies.items()}
    ports = {}
    for name, (_, old, new, *_) in lies.items():
        assert old.replace("{}", name) in originals[name]
        ports[name] = originals[name].replace(old.replace("{}", name), new.replace("{}", name), 1)
    Path("original.py").write_text(HEAD + "\n".join(originals.values()) + "\n")
    Path("ported.py").write_text(HEAD + "\n".join(ports.values()) + "\n")
    calls = [
        f"    yield torch.ops.acme_lies.{name}, {ARGUMENTS[given]}"
        for name, (_, _, _, given, _) in lies.items()
        if given
    ]
    Path("samples.py").write_text(
        "import torch\ndef calls():\n    torch.manual_seed(0)\n    x = torch.rand(3) + 0.1\n" + "\n".join(calls) + "\n"
    )
    words = ["import", "original", "--out", "o.yaml", "--samples", "samples.py", "--check", "--port"]
    status = main([*words, "ported"])
    printed = capsys.readouterr().out
    untold = []
    for name, (*_, told) in lies.items():
        shown = f"`acme_lies::{name}`"
        if not any(shown in line and told.replace("{}", shown) in line for line in printed.splitlines()):
            untold.append(name)
    assert not untold, printed
    assert status == 1
    status = main([*words, "original"])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert f"compared in two processes: {len(lies)} operators, " in printed
    assert f"{len(calls)} calls: 0 differences are lost, added or changed" in printed
