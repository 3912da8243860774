"""C++ types are spelt as the reference spells them, and interned: one object for each spelling."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Barrier, Thread

from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from tests.cpp.spelt_types import answers, spell_type

Constructor = Callable[[CType], CType]
REFERENCES: tuple[Constructor, ...] = (c_types.const_ref, c_types.mut_ref)
#: The constructors whose types can hold references.
HOLDERS: tuple[Constructor, ...] = (
    *(c_types.optional, c_types.c10_list, c_types.array_ref, c_types.vector),
    lambda elem: c_types.tuple_of((elem, c_types.LONG, elem)),
)


def test_types_have_the_reference_s_texts() -> None:
    """Each type, without its outermost reference and without any, is spelt as the reference spells it."""
    types = [c_types.TENSOR, c_types.SCALAR, c_types.array(c_types.BOOL, 3), c_types.vectorized(c_types.SCALAR_T)]
    types += [wrap(inner) for inner in types for wrap in (*HOLDERS, *REFERENCES)]
    types += [wrap(inner) for inner in types for wrap in HOLDERS]
    types += [wrap(inner) for inner in types for wrap in REFERENCES]
    texts = [[ctype.text, ctype.bare, ctype.value.text] for ctype in types]
    assert texts == answers("types", map(spell_type, types))


def test_threads_get_the_same_type() -> None:
    """Threads that make a type at the same time get one object, since types are compared by identity."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        counts = {len(types_of_threads(f"vend::Type{number}")) for number in range(500)}
    finally:
        sys.setswitchinterval(interval)
    assert counts == {1}


def types_of_threads(text: str) -> set[int]:
    """The identities of the types that four threads make of one spelling."""
    barrier = Barrier(4)
    types: list[c_types.CType] = []

    def make() -> None:
        barrier.wait()
        types.append(c_types.base(text))

    threads = [Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {id(type) for type in types}
