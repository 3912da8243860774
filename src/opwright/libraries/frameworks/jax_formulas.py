"""Formulas of gradients as expressions of JAX: calls of the library's operators, and plain arithmetic.

They are made from the formulas in Python that PyTorch runs, so all frameworks differentiate by one text.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from opwright.libraries.operator_library import OperatorLibrary, PythonFormula
from opwright.model.native_function import NativeFunction

_WHAT_SERVES: Final = "write it with operators of the library or plain arithmetic, or leave `jax` out of `frameworks`"

#: Operators of PyTorch that are plain arithmetic and have a function of `jax.numpy`, under their names or under others.
_SAME_NAMES: Final = """
exp exp2 expm1 log log2 log1p sqrt sin cos tan sinh cosh tanh abs sign floor ceil square matmul
maximum minimum logical_and logical_or logical_not isnan isinf isfinite reciprocal conj outer dot where reshape
"""
_OTHER_NAMES: Final = """
asin=arcsin acos=arccos atan=arctan mul=multiply div=divide neg=negative pow=power mm=matmul bmm=matmul t=transpose
transpose=swapaxes view=reshape eq=equal ne=not_equal lt=less le=less_equal gt=greater ge=greater_equal
"""
#: Those for which the module that runs formulas has a function.
_OWN: Final = """
add sub sum mean clamp zeros_like ones_like sum_to_size expand unsqueeze squeeze to rsqrt sigmoid erf
"""

#: Operators of PyTorch that are plain arithmetic, by name, each with its function in JAX.
ARITHMETIC: Final[Mapping[str, str]] = {
    **{name: f"_jnp.{name}" for name in _SAME_NAMES.split()},
    **{name: f"_jnp.{other}" for name, _, other in [pair.partition("=") for pair in _OTHER_NAMES.split()]},
    **{name: f"_runtime.{name}" for name in _OWN.split()},
}
#: Methods that tell facts of a tensor, as attributes of an array.
_FACTS: Final = {"numel": "size", "dim": "ndim"}
_ATTRIBUTES: Final = ("shape", "dtype")


class NoJax(Exception):
    """What a formula has that JAX has no form of, and what serves."""

    def __init__(self, message: str, help: str = _WHAT_SERVES) -> None:
        super().__init__(message)
        self.message: Final = message
        self.help: Final = help


class _ToJax(ast.NodeTransformer):
    """Changes an expression with PyTorch's operators to one of JAX. `functions` are those of the library's module."""

    def __init__(self, namespace: str, functions: Mapping[tuple[str, str], str]) -> None:
        self._namespace: Final = namespace
        self._functions: Final = functions

    def visit_Call(self, node: ast.Call) -> ast.AST:
        path = _path(node.func)
        if path[:2] == ["_torch", "ops"] and len(path) == 5:
            node.func = _expression(self._operator(*path[2:]))
        elif len(path) == 2 and path[1] in _FACTS and not node.args:
            return ast.Attribute(self.visit(_expression(path[0])), _FACTS[path[1]], ast.Load())
        elif path == ["getattr"] and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            raise NoJax("JAX has no form of a call in the formula")
        elif path in (["_quotient"], ["_not_implemented"]):
            node.func = _expression(f"_runtime.{path[0][1:]}")
        elif path not in (["list"], ["len"], ["int"], ["float"], ["bool"], ["max"], ["min"], ["abs"]):
            raise NoJax(f"JAX has no form of `{ast.unparse(node.func)}` in the formula")
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def _operator(self, namespace: str, name: str, overload: str) -> str:
        if namespace == self._namespace:
            function = self._functions.get((name, overload))
            if function is not None:
                return function
            raise NoJax(f"JAX does not have `{namespace}::{name}`, which the formula calls")
        if namespace == "aten" and name in ARITHMETIC:
            return ARITHMETIC[name]
        raise NoJax(f"JAX has no `{namespace}::{name}`, which the formula calls")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        path = _path(node)
        if path[:1] == ["_torch"] and len(path) == 2:
            return _expression(f"_runtime.dtypes.{path[1]}")
        if path[:1] == ["_math"]:
            return node
        if node.attr in _ATTRIBUTES:
            return self.generic_visit(node)
        raise NoJax(f"JAX has no form of `{ast.unparse(node)}` in the formula")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(True) if node.id.startswith("_need_") else node


def _path(node: ast.AST) -> list[str]:
    """The names of an attribute of an attribute, such as `_torch.ops.aten.exp.default`; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def jax_formula(text: str, namespace: str, functions: Mapping[tuple[str, str], str]) -> str:
    """An expression of PyTorch's operators as one of JAX. Raises NoJax.

    >>> jax_formula("(_torch.ops.aten.exp.default(x) * _grad_0)", "acme", {})
    '_jnp.exp(x) * _grad_0'
    """
    return ast.unparse(ast.fix_missing_locations(_ToJax(namespace, functions).visit(_expression(text))))


def module_functions(functions: list[NativeFunction]) -> dict[tuple[str, str], str]:
    """The functions of a module by name and overload of their operators."""
    return {
        (function.name.name, function.name.overload or "default"): function.name.unambiguous for function in functions
    }


def gradient_texts(
    formula: PythonFormula, library: OperatorLibrary, functions: Mapping[tuple[str, str], str]
) -> tuple[str, dict[str, str]]:
    """A formula in JAX, and the values that it reads, by name. Raises NoJax."""
    namespace = library.library.namespace
    saved = {value.name: jax_formula(value.expression, namespace, functions) for value in formula.saved}
    return jax_formula(formula.text, namespace, functions), saved
