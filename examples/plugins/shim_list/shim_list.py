"""C shims of a device for AOTInductor, from a list of operators. Their header is committed for each release."""

import os
from contextlib import suppress
from difflib import unified_diff

from opwright.plugin import CPP_IDENTIFIER, Code, Dialect, ExtraKey, Fault, Fields, NoCForm, Plugin, file_family
from opwright.plugin import did_you_mean, operator_key, load_yaml, shim_callee, shim_declaration, shim_definition
from opwright.plugin import shim_function, shim_kernel_key

NAMES = [ExtraKey(name, list[str], default=[]) for name in ("more", "without")]
FIELDS = Fields(ExtraKey("device", CPP_IDENTIFIER, is_required=True), ExtraKey("headers", str, default="."), *NAMES)
WRONG = Code("SHIMS0001", "wrong list of shims", "Compiled models need the committed functions:\n\n    -f(int a)\n")
TOP = '#pragma once\n#include <torch/csrc/inductor/aoti_torch/c/shim.h>\n\nextern "C" {\n\n'
KINDS = ("", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd")
HEADERS = ["torch/csrc/inductor/aoti_torch/utils", *[f"ATen/{kind}Functions" for kind in KINDS]]
INCLUDES = "".join([f"#include <{header}.h>\n" for header in HEADERS]) + "\nusing namespace torch::aot_inductor;\n"


def load(files, context):
    values = ExtraKey("shim_list", FIELDS).read(load_yaml(files[0]).get("shim_list"), context.sink)
    path = f"v{context.rules.version.major}r{context.rules.version.minor}/c_shim_{values['device']}.h"
    with suppress(Fault):
        file = context.read_file(os.path.join(os.path.dirname(files[0].path), values["headers"], path))
        return values, path, file.text
    return values, path, ""


def functions(job):
    return {operator_key(function): function for function in job.catalog.functions}


def shims(job):
    values, own, rows = job.more_inputs["shim_list"][0], functions(job), []
    listed = {*job.shim_tables.device, *values["more"]}.difference(values["without"]).intersection(own)
    kernels = {entry.function for backend in job.backends for entry in backend.entries}
    for function in [own[name] for name in sorted(listed)]:
        key = None if function in kernels else shim_kernel_key(function, job.backends[0].key, own_only=False)
        name = f"aoti_torch_{values['device']}_{function.name.unambiguous}"
        with suppress(NoCForm):
            shim = shim_function(name, shim_callee(function, key), function.schema)
            rows += [shim] if key is not None or function in kernels else []
    return rows


def check(job, sink):
    values, path, committed = job.more_inputs["shim_list"]
    nodes = [node for key in ("more", "without") for node in values.node(key) or ()]
    for node in [node for node in nodes if node.value not in functions(job)]:
        sink.error(WRONG.code, f"no operator `{node.value}`", node.span, help=did_you_mean(node.value, functions(job)))
    wanted = TOP + "".join([f"{shim_declaration(shim)}\n" for shim in shims(job)]) + "\n}\n"
    if wanted != committed and not job.options.update_c_shim:
        diff = unified_diff(committed.split("\n"), wanted.split("\n"), "committed", "generated", lineterm="", n=0)
        sink.error(WRONG.code, f"`{path}` changed", help="write it with `--update-aoti-c-shim`", notes=list(diff))


facts = {"units": shims, "dialects": ["shim_list"], "checks": [check]}
own = {"path": lambda job: job.more_inputs["shim_list"][1], "head": TOP, "end": "\n}\n", "belongs_to_sources": True}
header = file_family("shim_header", "their header", text=lambda shim, _: f"{shim_declaration(shim)}\n", **own, **facts)
top = {"path": "c_shim.cpp", "head": lambda job: f'#include "{job.more_inputs["shim_list"][1]}"\n{INCLUDES}'}
source = file_family("shim_source", "C shims", text=lambda shim, _: shim_definition(shim), **top, **facts)
dialect = Dialect("shim_list", fields=("shim_list",), loads_into=tuple, loader=load)
plugin = Plugin("shim_list", api=1, dialects=[dialect], codes=[WRONG], families=[header, source])
