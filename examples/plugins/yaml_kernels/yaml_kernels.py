"""Kernels described in YAML: an entry says which command computes its results, and their sizes and dtypes."""

from opwright.plugin import CPP_EXPRESSION, Code, ExtraKey, Fields, Plugin, Table
from opwright.plugin import file_family, free_names, kernel_signature, part_of, split_cpp

HEAD = '#include "PrivateUse1NativeFunctions.h"\n#include "acme_exec.h"\n#include <ATen/native/Resize.h>\n'
# The member of a tensor that stands for it, and the types of arguments that stand for a value.
MEMBERS = {"size": (".sizes()", ("Tensor", "int[]")), "dtype": (".scalar_type()", ("Tensor", "ScalarType"))}
RESULT = Fields(*[ExtraKey(name, CPP_EXPRESSION, is_required=True) for name in MEMBERS])
KEYS = {"exec": CPP_EXPRESSION, "results": Table(RESULT), "new_params": Table(CPP_EXPRESSION)}
WRONG = Code("YAMLK0001", "wrong expression", "Expressions are made of arguments and results:\n\n    size: slef\n")


def kernels(job):
    rows = [(backend.kernel_owner, entry) for backend in job.backends for entry in backend.entries]
    return [(owner, entry) for owner, entry in rows if entry.options.values["exec"]]


def facts(entry):
    types, values = {item.name: item.type.text for item in entry.function.schema.arguments.all}, entry.options.values
    return values, types, values.fields("results"), values.fields("new_params"), split_cpp(values["exec"])


def text(unit, context):
    owner, (function, kernel, _, _) = unit
    values, types, results, params, parts = facts(unit[1])
    like = next(name for name, type in types.items() if type == "Tensor")
    lines = [f"auto {name} = {expression};" for name, expression in params.items()]
    for name, result in results.items():
        size, dtype = [result[key] + MEMBERS[key][0] * (types.get(result[key]) == "Tensor") for key in MEMBERS]
        if name in types:
            lines += [f"TORCH_CHECK({name}.scalar_type() == {dtype});", f"at::native::resize_output({name}, {size});"]
        else:
            lines.append(f"at::Tensor {name} = at::empty({size}, {like}.options().dtype({dtype}));")
    command, *passed = [values["exec"][start:end] for start, end in parts]
    lines.append(f"ACME_EXEC({', '.join([command, *(passed or dict.fromkeys([*types, *results]))])});")
    written = [argument.name for argument in function.schema.arguments.all if argument.is_write]
    lines += [f"return {{{', '.join(written or results)}}};"] if function.schema.returns else []
    head = kernel_signature(function, kernel, external=True).definition(f"{owner}::{kernel.name}")
    return f"\n{head} {{\n  " + "\n  ".join(lines) + "\n}\n"


def check(job, sink):
    for _, entry in kernels(job):
        function, (values, types, results, params, parts) = entry.function, facts(entry)
        if function.schema.kind.name == "functional" and len(results) != len(function.schema.returns):
            sink.error(WRONG.code, f"`{function.name}` has {len(function.schema.returns)} results", values.span("exec"))
        nodes = [(MEMBERS[key][1], results.fields(name).node(key)) for name in results for key in MEMBERS]
        nodes += [((), params.node(name)) for name in params]
        for wanted, node in [*nodes, *[((), part_of(values.node("exec"), *part)) for part in parts[1:]]]:
            if wanted and types.get(node.value, wanted[0]) not in wanted:
                sink.error(WRONG.code, f"`{node.value}` is `{types[node.value]}`, not `{wanted[-1]}`", node.span)
            for name in [name for name in free_names(node.value) if not name.is_called]:
                if name.name not in {*types, *results, *params}:
                    at = node.span_of(name.start, name.end)
                    sink.error(WRONG.code, f"`{function.name}` has no argument `{name.name}`", at)


keys = [ExtraKey(name, type, where="backend entry") for name, type in KEYS.items()]
facets = {"path": "Kernels.cpp", "units": kernels, "text": text, "head": HEAD, "checks": [check]}
family = file_family("yaml_kernels", "kernels that a backend file describes", serves_backends=True, **facets)
plugin = Plugin("yaml_kernels", api=1, codes=[WRONG], extra_keys=keys, families=[family])
