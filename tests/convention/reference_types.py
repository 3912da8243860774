"""Program for the reference's interpreter: the types of arguments and results under each convention, as JSON.

The types are the base types alone, optional, and in lists of several forms. What the reference refuses is left out.
"""

from __future__ import annotations

import json

from torchgen import local
from torchgen.api import cpp, lazy, native, python, structured
from torchgen.api.lazy import LazyIrProperties
from torchgen.api.types import BaseCppType
from torchgen.model import BaseTy, Type

FORMS = ("{}", "{}?", "{}[]", "{}[2]", "{}[]?", "{}[2]?", "{}?[]")
INTEGERS = ("symint", "plain")
USES = ("written", "read")
CONVENTIONS = (
    *("structured", "python", "lazy symint", "lazy plain", "owning symint", "owning plain"),
    *(f"{name} {integers} {use}" for name in ("argument", "native") for integers in INTEGERS for use in USES),
    *("result written", "result read"),
)


def spelt(convention: str, parsed: Type) -> str:
    """A type under a convention."""
    name, *words = convention.split()
    symint, mutable = "symint" in words, "written" in words
    match name:
        case "structured":
            return str(structured.argumenttype_type(parsed, mutable=False, binds="x").cpp_type())
        case "python":
            # Signatures for the parser have types without reference.
            return str(python.argument_type_str(parsed)).removeprefix("const ").removesuffix(" &")
        case "lazy":
            return str(lazy.process_ir_type(parsed, LazyIrProperties(), symint=symint).cpp_type())
        case "native":
            return str(native.argumenttype_type(parsed, mutable=mutable, binds="x", symint=symint).cpp_type())
        case "result":
            return str(cpp.returntype_type(parsed, mutable=mutable, symint=True).cpp_type())
    named = cpp.argumenttype_type(
        parsed, mutable=mutable, binds="x", symint=symint, remove_non_owning_ref_types=name == "owning"
    )
    return str(named.cpp_type())


def main() -> None:
    """Print what each convention makes of each type, with references to constants and without."""
    lazy.setValueT(BaseCppType("torch::lazy", "Value"))
    types = [form.format(base.name) for base in BaseTy for form in FORMS]
    found: dict[str, dict[str, str]] = {}
    for const in (False, True):
        with local.parametrize(use_const_ref_for_mutable_tensors=const, use_ilistref_for_tensor_lists=const):
            for text in types:
                row = found.setdefault(f"{text} {const}", {})
                for convention in CONVENTIONS:
                    try:
                        row[convention] = spelt(convention, Type.parse(text))
                    except (AssertionError, KeyError, NotImplementedError, RuntimeError):
                        continue
    print(json.dumps(found))


if __name__ == "__main__":
    main()
