"""A mutation tester: it changes one place of the package at a time and runs the tests that guard the place's room.

A mutant is killed if a test fails, and survives if none does: then no test states what the changed code does. A room is
a sub-package of `src/opwright`, and only the tests of its own folders run (`rooms.py`). Each mutant runs in a copy of
the checkout with an environment of its own (`sandbox.py`), so that programs which tests start are mutants too.
"""
