"""The table of lints. Selection, documentation and tests follow from its rows."""

from __future__ import annotations

from typing import Final

from opwright.check.lint import BackendLint, Lint, OperatorLint
from opwright.check.lints import (
    check_alias_annotations,
    check_backward,
    check_composites,
    check_cpp_keywords,
    check_defaults,
    check_functional_forms,
    check_meta_kernels,
    check_normal_forms,
    check_repeated_items,
    check_tags,
)
from opwright.source import codes

__all__ = ["BACKEND_LINTS", "LAYOUT", "LINTS", "OPERATOR_LINTS"]

#: Lints of operators. One that is part of the default selection for PyTorch has no finding in any of its releases.
OPERATOR_LINTS: Final = (
    OperatorLint(Lint(codes.CPP_KEYWORD, for_pytorch=True), check_cpp_keywords),
    OperatorLint(Lint(codes.MISSING_META, compares_entries=True), check_meta_kernels),
    OperatorLint(Lint(codes.UNUSED_TAG, for_others=False, compares_entries=True), check_tags),
    OperatorLint(Lint(codes.REPEATS_DEFAULT), check_defaults),
    OperatorLint(Lint(codes.SUSPICIOUS_ALIAS, for_pytorch=True), check_alias_annotations),
    # PyTorch can functionalize operators of libraries without a functional form, at some cost.
    OperatorLint(Lint(codes.ONLY_WRITES, for_others=False, compares_entries=True), check_functional_forms),
    OperatorLint(Lint(codes.REPEATED_ITEM, for_pytorch=True), check_repeated_items),
    OperatorLint(Lint(codes.NOT_NORMAL, for_others=False), check_normal_forms),
)

#: Lints of backends.
BACKEND_LINTS: Final = (
    # A backend file must say `override_composite` for each of them already (E1341).
    BackendLint(Lint(codes.GRADIENT_TAKEN_AWAY, for_others=False), check_composites),
    BackendLint(Lint(codes.BACKWARD_LACKS), check_backward),
)

#: The lint of whole files, which `run/layout.py` checks.
LAYOUT: Final = Lint(codes.NOT_LAID_OUT, for_others=False)

#: Code -> lint.
LINTS: Final = {lint.code: lint for lint in (*[row.lint for row in (*OPERATOR_LINTS, *BACKEND_LINTS)], LAYOUT)}
