"""C++ types are interned: one object for each spelling."""

from __future__ import annotations

import sys
from threading import Barrier, Thread

from opwright.cpp import c_types


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
