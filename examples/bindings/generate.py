"""Write C functions for the operators of a dump, with a header for C and declarations for Rust.

    opwright dump --for bindings --out bindings.json
    python generate.py bindings.json generated
    python generate.py bindings.json generated --only add.Tensor,matmul,_backward

The folder gets `aten.h`, `aten.rs`, the sources `aten_0.cpp` and so on, and `skipped.json` with the operators that
have no function, by reason. Nothing but the dump is read.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

#: A source with so many functions compiles in less than half a minute.
PER_SOURCE = 200


class Value(NamedTuple):
    """A type in C and in Rust, and the C++ expression of a C value."""

    c: str
    rust: str
    expression: str


#: The types of schemas that are one C value.
VALUES = {
    "Tensor": Value("atc_tensor", "Tensor", "atc::tensor({})"),
    "Tensor?": Value("atc_tensor", "Tensor", "atc::optional_tensor({})"),
    "Generator?": Value("atc_generator", "Generator", "atc::optional_generator({})"),
    "Scalar": Value("atc_scalar", "Scalar", "atc::scalar({})"),
    "Device": Value("atc_device", "Device", "atc::device({})"),
    "int": Value("int64_t", "i64", "{}"),
    "SymInt": Value("int64_t", "i64", "{}"),
    "float": Value("double", "f64", "{}"),
    "bool": Value("bool", "bool", "{}"),
    "str": Value("const char*", "*const c_char", "std::string_view({})"),
    "ScalarType": Value("int32_t", "i32", "static_cast<at::ScalarType>({})"),
    "Layout": Value("int32_t", "i32", "static_cast<at::Layout>({})"),
    "MemoryFormat": Value("int32_t", "i32", "static_cast<at::MemoryFormat>({})"),
}
#: The lists: their items in C are those of a value, and the expression has the pointer and the length.
LISTS = {
    "Tensor": "at::TensorList(atc::tensors({0}, {1}))",
    "Tensor?": "atc::optional_tensors({0}, {1})",
    "Scalar": "at::ArrayRef<at::Scalar>(atc::scalars({0}, {1}))",
    "int": "at::IntArrayRef({0}, {1})",
    "SymInt": "at::IntArrayRef({0}, {1})",
    "float": "at::ArrayRef<double>({0}, {1})",
}
#: Types of results: the C type behind the pointer, and that in Rust.
RESULTS = {
    **{text: VALUES[text][:2] for text in ("Tensor", "Scalar", "int", "SymInt", "float", "bool", "ScalarType")},
    "SymBool": VALUES["bool"][:2],
    "Tensor[]": ("atc_tensor*", "*mut Tensor"),
    "int[]": ("int64_t*", "*mut i64"),
}
#: Names that C++ or Rust keep for themselves.
WORDS = frozenset(
    "self Self auto bool break case catch char class const continue crate default delete do double dyn else enum "
    "extern false float fn for from goto if impl in int let long loop match mod move mut namespace new operator "
    "private public pub ref register return short signed static struct super switch template this throw trait true "
    "try type typedef typename union unsafe unsigned use using virtual void volatile where while yield".split()
)


class Unsupported(Exception):
    """The reason why an operator has no function."""


class Parameter(NamedTuple):
    """A parameter of a C function."""

    name: str
    c: str
    rust: str

    @classmethod
    def pointer(cls, name, value, *, const=True):
        """A pointer to a value."""
        if const:
            return cls(name, f"const {value.c}*", f"*const {value.rust}")
        return cls(name, f"{value.c}*", f"*mut {value.rust}")


def argument(name, text, types):
    """The parameters for an argument of a type, and the C++ expression that is made from them."""
    type = types[text]
    if text in VALUES:
        value = VALUES[text]
        return [Parameter(name, value.c, value.rust)], value.expression.format(name)
    if type["kind"] == "optional":
        return optional(name, type["of"], types)
    if type["kind"] == "list" and type["of"] == "bool" and "size" in type:
        return [Parameter.pointer(name, VALUES["bool"])], f"atc::bools<{type['size']}>({name})"
    if type["kind"] == "list" and type["of"] in LISTS:
        length = f"{name}_len"
        parameters = [Parameter.pointer(name, VALUES[type["of"]]), Parameter(length, "size_t", "usize")]
        return parameters, LISTS[type["of"]].format(name, length)
    raise Unsupported(f"an argument of type {text}")


def optional(name, text, types):
    """The same for an optional of a type: a pointer that may be NULL."""
    parameters, expression = argument(name, text, types)
    if types[text]["kind"] == "list":
        return parameters, f"({name} ? std::make_optional({expression}) : std::nullopt)"
    value = VALUES[text]
    if value.c.endswith("*"):
        return parameters, f"({name} ? std::make_optional({expression}) : std::nullopt)"
    inner = value.expression.format(f"*{name}")
    return [Parameter.pointer(name, value)], f"({name} ? std::make_optional({inner}) : std::nullopt)"


def results(operator):
    """The parameters for the results, and the statements that write them from the C++ value `value`.

    Results that are arguments have none: the caller has them already.
    """
    parameters, statements = [], []
    returns = operator["returns"]
    for index, result in enumerate(returns):
        if result.get("alias", {}).get("write"):
            continue
        if result["type"] not in RESULTS:
            raise Unsupported(f"a result of type {result['type']}")
        name = safe(result["cpp_name"])
        pointed = Value(*RESULTS[result["type"]], "")
        given = [Parameter.pointer(name, pointed, const=False)]
        if result["type"].endswith("[]"):
            given.append(Parameter(f"{name}_len", "size_t*", "*mut usize"))
        parameters += given
        value = "value" if len(returns) == 1 else f"std::get<{index}>(value)"
        statements.append(f"atc::give({', '.join([value, *(parameter.name for parameter in given)])});")
    return parameters, statements


def safe(name):
    """A name that is no word of C++ or Rust."""
    return f"{name}_" if name in WORDS or name == "value" else name


class Wrapper(NamedTuple):
    """A C function for an operator."""

    name: str
    header: str
    parameters: list
    body: str

    @property
    def head(self):
        """The C declaration, without its end."""
        listed = ", ".join(f"{parameter.c} {parameter.name}" for parameter in self.parameters)
        return f"int32_t {self.name}({listed or 'void'})"

    @property
    def rust(self):
        """The declaration in Rust."""
        listed = ", ".join(f"{parameter.name}: {parameter.rust}" for parameter in self.parameters)
        return f"    pub fn {self.name}({listed}) -> i32;"


def chosen_call(operator):
    """The function or method to call: with the arguments one for one in the order of the schema, and plain integers."""
    for call in operator["cpp"]:
        if call["schema_order"] and not call["symint"]:
            return call
    raise Unsupported("neither a function nor a method")


def wrapper(operator, types):
    """The C function for an operator. Raises Unsupported."""
    call = chosen_call(operator)
    parameters, expressions = [], []
    for listed in operator["arguments"]:
        taken, expression = argument(safe(listed["name"]), listed["type"], types)
        parameters += taken
        expressions.append(expression)
    passed = [expressions[parameter["arguments"][0]] for parameter in call["parameters"]]
    name = call["name"]
    if call["form"] == "method":
        own = next(index for index, listed in enumerate(operator["arguments"]) if listed["name"] == "self")
        name = f"{expressions[own]}.{name.rpartition('::')[2]}"
    outputs, statements = results(operator)
    value = f"{name}({', '.join(passed)});"
    body = " ".join([f"auto value = {value}" if statements else value, *statements])
    return Wrapper(f"at_{operator['c_name']}", operator["header"], parameters + outputs, body)


def wrappers(dump, only):
    """The C functions of a dump, and the names of the operators without one, by reason."""
    made, skipped = [], defaultdict(list)
    for operator in dump["operators"]:
        if only and operator["name"] not in only:
            continue
        try:
            made.append(wrapper(operator, dump["types"]))
        except Unsupported as reason:
            skipped[str(reason)].append(operator["name"])
    return made, skipped


HEADER = """\
// Operators of PyTorch {torch} as C functions. Made by generate.py.
#pragma once

#include "atc.h"

#ifdef __cplusplus
extern "C" {{
#endif

{declarations}

#ifdef __cplusplus
}} // extern "C"
#endif
"""
RUST = """\
// Operators of PyTorch {torch} as C functions. Made by generate.py.
extern "C" {{
{declarations}
}}
"""


def source(functions):
    """The text of a source with these functions."""
    headers = sorted({function.header for function in functions})
    includes = ['#include "convert.h"', '#include "aten.h"', *(f"#include <{header}>" for header in headers)]
    bodies = [f"{function.head}\nATC_BODY({function.body})" for function in functions]
    return "\n".join([*includes, "", "\n\n".join(bodies), ""])


def main():
    """Read the dump and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="names of operators, separated by commas")
    arguments = parser.parse_args()
    dump = json.loads(arguments.dump.read_text(encoding="utf-8"))
    only = set(filter(None, arguments.only.split(",")))
    made, skipped = wrappers(dump, only)
    missing = only - {operator["name"] for operator in dump["operators"]}
    if missing:
        parser.error(f"no such operators: {', '.join(sorted(missing))}")
    files = {
        "aten.h": HEADER.format(torch=dump["torch"], declarations="\n".join(f"{each.head};" for each in made)),
        "aten.rs": RUST.format(torch=dump["torch"], declarations="\n".join(each.rust for each in made)),
        "skipped.json": json.dumps(skipped, indent=1) + "\n",
    }
    for number, start in enumerate(range(0, len(made), PER_SOURCE)):
        files[f"aten_{number}.cpp"] = source(made[start : start + PER_SOURCE])
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (arguments.out / name).write_text(text, encoding="utf-8")
    print(f"{len(made):,} functions, {sum(map(len, skipped.values()))} operators skipped")
    for reason, names in sorted(skipped.items(), key=lambda row: -len(row[1])):
        print(f"  {len(names):>4} have {reason}, such as {names[0]}")


if __name__ == "__main__":
    main()
