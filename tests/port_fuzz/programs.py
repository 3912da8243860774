"""Random functions on tensors, in the C++ API of PyTorch, from what `opwright port` translates."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.migrate.porting.stable_api import NUMBERS

__all__ = ["number_functions", "random_function"]

_DTYPES: Final = ("kFloat", "kDouble", "kHalf", "kBFloat16", "kLong", "kInt", "kByte", "kChar", "kBool")
#: Overloads with numbers that are functions only, or have tensors besides the first one; `$m` and `$k` are numbers.
_WITH_NUMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "clamp": ("x.clamp($m)", "x.clamp($m, $k)", "x.clamp(at::nullopt, $m)", "x.clamp(7.5, $m)"),
    "clamp_": ("x.clamp_($m)", "x.clamp_($m, $k)"),
    "index_fill": ("x.index_fill(0, at::zeros({1}, at::kLong), $m)",),
    "index_fill_": ("x.index_fill_(0, at::zeros({1}, at::kLong), $m)",),
    "masked_fill": ("x.masked_fill(y > 2, $m)",),
    "masked_fill_": ("x.masked_fill_(y > 2, $m)",),
    "pow.Scalar": ("at::pow($m, x)",),
    "where": ("at::where(y > 2, x, $m)", "at::where(y > 2, $m, x)"),
    "where.Scalar": ("at::where(y > 2, $m, $k)",),
}
_OTHERS_WITH_NUMBERS: Final = (
    "x.add($m)", "x.add_($m)", "x.sub($m)", "x.sub_($m)", "$m - x", "$m / x", "$m % x", "$m + x", "$m < x",
    "x.fill_($m)", "at::full_like(x, $m)", "at::full({2}, $m, x.options())", "at::full({2}, $m)",
    "x.pow(2)", "x.pow(0.5)", "x.pow_(2)", "x.bitwise_and(3)", "x.index_put_({y > 2}, $m)",
)  # fmt: skip
_INTEGERS: Final = ("0", "1", "2", "-1", "3", "7", "300", "n", "n + 1", "x.size(0)", "y.dim()", "x.numel()")
_REALS: Final = ("0.5", "-1.5", "2.0", "0.1", "0.1f", "1e3", "r", "r * 2", "n * 0.5", "static_cast<float>(r)")
_OTHER_NUMBERS: Final = ("true", "static_cast<int32_t>(n)", "static_cast<int64_t>(r)", "(n > 2)", "n % 2")
_BINARY: Final = ("+", "-", "*", "/", "%", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=")
_UNARY: Final = (
    "abs", "neg", "exp", "sqrt", "rsqrt", "relu", "sigmoid", "tanh", "floor", "ceil", "round", "trunc", "sign", "isnan",
    "isinf", "clone", "contiguous", "flatten", "logical_not", "sum", "mean", "max", "min", "any", "all", "argmax",
    "argmin", "prod", "squeeze", "nonzero", "square", "reciprocal", "erf", "log1p", "sin", "cos", "detach", "isfinite",
)  # fmt: skip
#: `$t` is a tensor, `$m` a number, `$v` a variable, `$w` one that may change, `$d` a dtype, and `$c` a type of C++.
_CALLS: Final = (
    "$t.sum(0)", "$t.sum({0}, true)", "$t.sum(-1, false, at::$d)", "$t.mean(0)", "$t.mean({0}, true)",
    "$t.cumsum(0)", "$t.cumsum(-1)", "$t.cumprod(0)", "$t.argmax(0)", "$t.argmin(-1, true)", "$t.prod(0)",
    "$t.any(0)", "$t.all(-1)", "$t.amax(0)", "$t.amin({-1}, true)", "$t.transpose(0, -1)", "$t.unsqueeze(0)",
    "$t.unsqueeze(-1)", "$t.squeeze(0)", "$t.view({-1})", "$t.reshape({-1})", "$t.to(at::$d)",
    "$t.to($v.scalar_type())", "$t.toType(at::$d)", "$t.to($v.options())", "$t.type_as($v)",
    "$t.clamp($m, $m)", "$t.clamp_min($m)", "$t.clamp_max($m)", "at::clamp($t, $m)", "$t.add($m)",
    "$t.add($t)", "$t.sub($m)", "$t.sub($t)", "$t.mul($m)", "$t.div($m)", "$t.div($t)", "$t.eq($m)",
    '$t.div($t, "floor")', '$t.div($m, "trunc")', "$t.fmod($m)", "$t.remainder($m)", "$t.remainder($t)",
    "$t.floor_divide($t)", "$t.bitwise_and($m)", "$t.bitwise_or($t)", "$t.lt($t)", "$t.ge($m)", "$t.ne($m)",
    "$t.masked_fill($t > $m, $m)", "at::where($t > $m, $t, $t)", "at::where($t > $m, $t, $m)",
    "$t.where($t != $m, $t)", "$t.expand_as($v)", "$t.narrow(0, 0, 1)", "$t.select(0, 0)", "$t[0]",
    "$t[n % 2]", "$t.repeat({2, 1})", "$t.flip({0})", "$t.roll(1, 0)", "at::minimum($t, $t)",
    "$t.maximum($t)", "std::get<0>($t.max(0))", "std::get<1>($t.min(-1))", "std::get<0>($t.sort(0))",
    "std::get<0>($t.topk(2))", "at::cat({$t, $t})", "at::stack({$t, $t}, -1)", "$t.softmax(0)",
    "$t.softmax(-1, at::kDouble)", "$t.log_softmax(0)", "at::full_like($t, $m)", "at::zeros_like($t)",
    "at::ones_like($t, at::$d)", "at::full_like($t, $m, at::$d)", "$t.new_zeros({2, 3})",
    "at::full({2, 3}, $m)", "at::full({2, 3}, $m, at::$d)", "at::full({2}, $m, $v.options())",
    "at::zeros($v.sizes(), $v.options())", "at::ones({3}, $v.options().dtype(at::$d))", "at::zeros({4}, o)",
    "at::arange(n, at::$d)", "at::arange(1, 9, 2)", "at::arange(n, $v.options())", "at::full({3}, $m, o)",
    "$t.index_select(0, at::zeros({2}, at::kLong))", "$t.gather(0, at::zeros_like($t, at::kLong))", "$t.tril()",
    "$t.index({Slice(0, 2)})", '$t.index({"...", 0})', "$t.index({None, Slice(None, None, 2)})",
    "$t.index({Slice(1), 0})", "$t.index({Ellipsis, None})", "$t.index({$t > $m})", "$t.permute({1, 0})",
    "$t.index({torch::indexing::Slice(torch::indexing::None, -1)})", "$t.index({$t > $m, y > $m})",
    "$t.index({Slice(n % 2, $v.size(0), 2), Slice()})", "at::zeros_like($t, o)", "$t.to(o)",
    "at::zeros({2}, at::TensorOptions().dtype(at::$d).device($v.device()))", "at::ones({2}, o.dtype(at::$d))",
    "at::zeros({2}, at::TensorOptions(at::$d))",
    "at::full({2}, $m, at::dtype(at::$d).device(at::kCPU))", "at::zeros({2}, $v.options().requires_grad(false))",
    "at::where($t > $m, $m, $t)", "at::where($t > $m, $m, $m)", "$t.pow(2)", "at::pow($m, $t)", "$t.to(o.dtype())",
    "at::mm($t, $t)", "$t.matmul($t)", "$t.t()", "at::addmm($t, $t, $t)", "$t.logical_and($t)",
    "$t.pow($t)", "at::atan2($t, $t)", "$t.view_as($v)", "$t.diff()", "$t.count_nonzero()", "at::relu($t)",
    "$t.nan_to_num(0.5)", "$t.isclose($t)", "$t.lerp($t, $t)", "$t.bincount()", "$t.fill_($m)",
)  # fmt: skip
_STATEMENTS: Final = (
    "$w += $m;", "$w -= $m;", "$w *= $m;", "$w /= $m;", "$w += $t;", "$w -= $t;", "$w *= $t;",
    "$w /= $t;", "$w &= $t;", "$w |= $m;", "$w.add_($m);", "$w.add_($t);", "$w.sub_($m);", "$w.mul_($t);",
    "$w.div_($m);", "$w.fill_($m);", "$w.zero_();", "$w.copy_($t);", "$w.clamp_($m, $m);",
    "$w.masked_fill_($t > $m, $m);", "$w.relu_();", "$w.neg_();", "$w[0] = $m;", "$w[0] = $t;",
    "$w[1] += $m;", "$w.index_put_({Slice(0, 1)}, $m);", '$w.index_put_({"...", 0}, $t);',
    "$w.index_add_(0, at::zeros({1}, at::kLong), $t);", "$w.addmm_($t.clone(), $t.clone());", "$w.floor_();",
    "$w.eq_($m);", "$w.remainder_($m);", "$w.fmod_($t);", "$w.sqrt_();", "$w.bitwise_and_($t);",
    "TORCH_CHECK($v.dim() < 4, \"few dimensions, not \", $v.sizes(), $v.device());",
    "if ($t.sum().item<double>() > $m) { $w = $t; }", "if ($v.dim() > 1) { $w = $w.select(0, 0); }",
    "$w = at::full({2}, $t.sum().item<$c>());", "o = o.dtype(at::$d);",
    "$w = at::zeros({2}, o) + $m; o = o.dtype(at::$d); $w = at::full({2}, $m, o);", "$w += 0.5;", "$w -= 1.5;",
    "at::TensorOptions q = $v.options().dtype(at::$d); $w = at::full({2}, $m, q);", "$w *= 0.5;",
    "const auto c = o; $w = at::ones({3}, c);",
    "using torch::indexing::Slice; $w = $t.index({Slice(0, 2)});", "$w.index_put_({Slice(), 0}, $t);",
    "$w.index_put_({$w > $m}, $m);", "$w.index_put_({y > $m}, $t);", "$w[n % 2] += $t;", "$w[-1] = $t;",
    "TORCH_CHECK($v.dim() < n, $v.device().str(), n, r, $v.scalar_type());",
    "auto d = $v.device(); TORCH_CHECK(n < 4, \"on \", d.str(), \" and \", d, $v.strides());",
    "at::checkAllSameType(\"f\", {{$w, \"w\", 1}, {$v, \"v\", 2}});",
    "at::TensorArg g{$w, \"w\", 1}, h{$v, \"v\", 2}; at::checkSameType(\"f\", g, h);",
    "auto columns = at::zeros({2, 3, 3}, $v.options()); columns[n % 2] = at::mm($t, $t); $w = columns;",
    "for (int64_t g = 0; g < $w.size(0); ++g) { $w[g] = $t; }", "for (int g = 0; g < 2; g++) { $w[g] *= $m; }",
    # One tensor: what `$w` stands for differs from place to place.
    "a = a.contiguous(); AT_DISPATCH_ALL_TYPES(a.scalar_type(), \"f\", [&] { auto* p = a.data_ptr<scalar_t>();"
    " for (int64_t i = 0; i < a.numel(); ++i) { p[i] = static_cast<scalar_t>(i); } });",
)  # fmt: skip


class _Writer:
    """Writes one function."""

    def __init__(self, choose: random.Random) -> None:
        self._choose: Final = choose
        self._variables: Final = ["a", "b"]

    def number(self) -> str:
        """A number of some kind."""
        return self._choose.choice((*_INTEGERS, *_REALS, *_OTHER_NUMBERS))

    def tensor(self, depth: int) -> str:
        """An expression with a tensor."""
        kind = self._choose.random() if depth else 0
        if kind < 0.25:
            return self._choose.choice((*self._variables, "x", "y"))
        if kind < 0.5:
            left, right = self.tensor(depth - 1), self.tensor(depth - 1)
            number = self._choose.random()
            left, right = (
                (left, self.number()) if number < 0.3 else (self.number(), right) if number < 0.5 else (left, right)
            )
            return f"({left} {self._choose.choice(_BINARY)} {right})"
        if kind < 0.6:
            name = self._choose.choice(_UNARY)
            own = self.tensor(depth - 1)
            return (
                f"(-{own})" if name == "neg" else f"at::{name}({own})" if name in ("exp", "abs") else f"{own}.{name}()"
            )
        return self._filled(self._choose.choice(_CALLS), depth)

    def _filled(self, template: str, depth: int) -> str:
        return re.sub(r"\$([tmvwdc])", lambda match: self._part(match[1], depth), template)

    def _part(self, key: str, depth: int) -> str:
        if key == "t":
            return self.tensor(max(depth - 1, 0))
        if key == "m":
            return self.number()
        if key == "d":
            return self._choose.choice(_DTYPES)
        if key == "c":
            return self._choose.choice(("double", "int64_t", "float"))
        return self._choose.choice(self._variables if key == "w" else (*self._variables, "x", "y"))

    def function(self, name: str) -> str:
        """A function with some statements."""
        lines = [f"auto o = {self._choose.choice('xy')}.options();"] if self._choose.random() < 0.6 else []
        lines += ["at::Tensor a = x.clone();", "at::Tensor b = y.clone();"]
        for number in range(self._choose.randint(1, 3)):
            if self._choose.random() < 0.5:
                lines.append(self._filled(self._choose.choice(_STATEMENTS), 2))
            else:
                lines.append(f"at::Tensor v{number} = {self.tensor(3)};")
                self._variables.append(f"v{number}")
        lines.append(f"return {self._variables[-1] if self._choose.random() < 0.7 else self.tensor(2)};")
        if not any(" o)" in line or " o." in line or "o =" in line[5:] for line in lines[1:]):
            lines = [line for line in lines if not line.startswith("auto o")]
        elif not lines[0].startswith("auto o"):
            lines.insert(0, "auto o = x.options().dtype(at::kLong);")
        body = "".join(f"  {line}\n" for line in lines)
        return f"at::Tensor {name}(const at::Tensor& x, const at::Tensor& y, int64_t n, double r) {{\n{body}}}\n"


def random_function(choose: random.Random, name: str) -> str:
    """The text of a random function on two tensors, an integer and a real number."""
    return _Writer(choose).function(name)


def number_functions() -> Iterator[str]:
    """Expressions on a tensor `x` and a tensor `y` with its shape: each overload that takes numbers, with each kind."""
    own = [text for name in NUMBERS for text in _WITH_NUMBERS.get(name, (f"x.{name}($m)",))]
    for text in (*own, *_OTHERS_WITH_NUMBERS):
        for number, other in (("n", "r"), ("r", "n"), ("(n > 2)", "(n > 3)")) if "$" in text else (("", ""),):
            yield text.replace("$m", number).replace("$k", other)
