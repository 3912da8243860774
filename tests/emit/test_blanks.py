"""What PyTorch's generator before 2.8 leaves in its files: blanks at ends of lines, and the layout of C shims."""

from __future__ import annotations

import pytest

from opwright.convention.c_shim import CResult, ShimFunction
from opwright.emit.aten.c_shim import laid_out_definition
from opwright.emit.release_spelling import with_blanks
from opwright.release.rules import Rules
from opwright.release.version import Version

OLD, NEW = Rules(Version(2, 7)), Rules(Version(2, 8))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if (x) {\n\n  f();\n}\n", "if (x) {\n  \n  f();\n}\n"),
        ("if (x) {\n\n\n}\n", "if (x) {\n  \n\n}\n"),
        ("if (x) {\n  f();\n\n}\n", "if (x) {\n  f();\n\n}\n"),
    ],
)
def test_blanks_stand_where_a_slot_was_empty(text: str, expected: str) -> None:
    """Only an empty line at the place gets blanks, and only before 2.8."""
    assert with_blanks(text, OLD, (") {\n", "  ")) == expected
    assert with_blanks(text, NEW, (") {\n", "  ")) == text


def test_blanks_of_an_earlier_place_hold() -> None:
    """A line has the blanks of the first place that fits it."""
    assert with_blanks("f();\n\ng();\n\nh();\n", OLD, ("f();\n", " "), ("\n", "   ")) == "f();\n \ng();\n   \nh();\n"


def shim(*results: CResult) -> ShimFunction:
    """A C function with results."""
    arguments = ("pointer_to_optional<::std::string_view>(s)",)
    return ShimFunction("f", "AOTITorchError f()", "at::cpu::f", arguments, results, None)


def test_shims_without_results_have_no_empty_line() -> None:
    """Before 2.8 nothing stands for results that are not there, and strings have the name of c10."""
    old, new = laid_out_definition(shim(), OLD), laid_out_definition(shim(), NEW)
    assert "        );\n    });" in old
    assert "        );\n\n    });" in new
    assert "<c10::string_view>" in old
    assert "<::std::string_view>" in new


def test_shims_write_handles_after_blanks() -> None:
    """Before 2.8 a handle is written after blanks and with two semicolons, another value with one."""
    handle = CResult("AtenTensorHandle* ret0", "*ret0 = new_tensor_handle(std::move(tmp_result));")
    number = CResult("int64_t* ret1", "*ret1 = tmp_result.expect_int();")
    old, new = (laid_out_definition(shim(handle, number), rules) for rules in (OLD, NEW))
    assert f"        {handle.statement};\n        {number.statement}\n" in old
    assert f"\t\t{handle.statement}\n\t\t{number.statement}\n" in new
