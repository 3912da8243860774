"""Entries for tests: views, and operators that write to what they are given."""

from __future__ import annotations

TURN = """
- func: turn(Tensor(a) self, SymInt[] by, SymInt? n=None) -> Tensor(a)
  dispatch:
    CompositeExplicitAutograd: turn
- func: turn_(Tensor(a!) self, SymInt[] by, SymInt? n=None) -> Tensor(a!)
  device_check: NoCheck
  tags: inplace_view
  dispatch:
    CompositeExplicitAutograd: turn_
- func: turn_copy(Tensor self, SymInt[] by, SymInt? n=None) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: turn_copy_symint
  tags: view_copy
  autogen: turn_copy.out
"""

PARTS = """
- func: parts(Tensor(a -> *) self, int n) -> Tensor(a)[]
  dispatch:
    CompositeExplicitAutograd: parts
- func: parts_copy(Tensor self, int n) -> Tensor[]
  dispatch:
    CompositeExplicitAutogradNonFunctional: parts_copy
  tags: view_copy
  autogen: parts_copy.out
"""

WHOLE = "- func: whole(Tensor(a) self) -> Tensor(a)\n"

SCALE = """
- func: scale(Tensor self, Tensor? by, ScalarType? dtype=None) -> Tensor
  dispatch:
    CPU: scale_cpu
- func: scale_(Tensor(a!) self, Tensor? by, ScalarType? dtype=None) -> Tensor(a!)
  dispatch:
    CPU: scale_cpu_
- func: scale.out(Tensor self, Tensor? by, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: scale_out
"""

COUNT = """
- func: count(Tensor self, Tensor(a!) seen) -> Tensor
  dispatch:
    CPU: count
  autogen: count_functional, count.out
"""
