"""The jobs of the comparison, as data: the commands of both sides, and the inputs they run on.

A command is written as the arguments of the Python interpreter. `{aten}`, `{native}`, `{tags}`, `{autograd}` and
`{selection}` stand for places in the folder of inputs, and `{tests}` for the folder of the tests; outputs go into the
working folder of the side.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tests.conformance.inputs import BUILD_PROGRAM, LAZY, ROOT, STUBS, TREE, input_folder, installed_headers

Command = tuple[str, ...]
Side = Literal["reference", "opwright"]

SHIM_HEADERS = "torch/csrc/inductor/aoti_torch/generated"


@dataclass(frozen=True)
class Job:
    """One comparison: what each side runs, on which inputs, and files that stand in the output folder beforehand.

    `seeds` maps a place in the output folder to a file below the headers that the installed PyTorch ships, or, with
    `{root}/`, to one among the inputs.
    """

    name: str
    reference: tuple[Command, ...]
    opwright: tuple[Command, ...]
    inputs: str = "pytorch"
    seeds: Mapping[str, str] = field(default_factory=dict)


def commands(job: Job, side: Side, inputs: Path | None = None) -> list[list[str]]:
    """The command lines of one side of `job`, ready to run; `inputs` is a folder to use in place of the job's own."""
    folder = inputs or input_folder(job.inputs)
    is_tree = (folder / "aten").is_dir()
    aten = f"{folder}/aten/src/ATen" if is_tree else f"{folder}/torchgen/packaged/ATen"
    places = {
        "{root}": f"{folder}",
        "{aten}": aten,
        "{native}": f"{aten}/native/native_functions.yaml",
        "{tags}": f"{aten}/native/tags.yaml",
        "{autograd}": f"{folder}/tools/autograd" if is_tree else f"{folder}/torchgen/packaged/autograd",
        "{selection}": f"{folder}/selection",
        "{tests}": f"{ROOT}/tests",
    }
    steps = job.reference if side == "reference" else job.opwright
    return [[sys.executable, *(filled(argument, places) for argument in step)] for step in steps]


def filled(argument: str, places: Mapping[str, str]) -> str:
    """`argument` with the place it starts with, if any, written out."""
    opening, closed, rest = argument.partition("}")
    return places.get(opening + closed, opening + closed) + rest


def environment(job: Job, inputs: Path | None = None) -> dict[str, str]:
    """The environment of both sides: the reference is imported from the inputs, as if they were installed, and ours
    from this checkout.

    Both may keep compiled modules, as they do for a user, whatever the environment of the checks says.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join([os.fspath(inputs or input_folder(job.inputs)), str(ROOT / "src")]),
    }


def prepare(job: Job, folder: Path) -> None:
    """Put the seeds of `job` into the still empty output folder."""
    for target, path in seed_paths(job):
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / target)


def seed_paths(job: Job) -> list[tuple[str, Path]]:
    """The places of the seeds of `job` in the output folder, each with the file that stands there."""
    paths = []
    for target, source in sorted(job.seeds.items()):
        own = source.removeprefix("{root}/")
        paths.append((target, (installed_headers() if own == source else input_folder(job.inputs)) / own))
    return paths


# The main program. Both sides take the same flags, which is the whole point.

FOLDERS = ("--install-dir", "aten/src/ATen", "--aoti-install-dir", "aoti", "--headeronly-install-dir", "headeronly")
PER_OPERATOR = ("--per-operator-headers",)
DEVICES = ("--mps", "--xpu", "--mtia")


def aten(name: str, *flags: str, inputs: str = "pytorch", folders: Command = FOLDERS, seeds: Iterable[str] = ()) -> Job:
    """A job of the main program with `flags`; `seeds` names C shim headers that stand there already."""
    return aten_steps(name, (*folders, *flags), inputs=inputs, seeds=seeds)


def aten_steps(name: str, *steps: Command, inputs: str = "pytorch", seeds: Iterable[str] = ()) -> Job:
    """A job that runs the main program several times, as a build does."""
    source = ("--source-path", "{aten}")
    return Job(
        name,
        reference=tuple(("-m", "torchgen.gen", *source, *step) for step in steps),
        opwright=tuple(("-m", "opwright.torchgen.gen", *source, *step) for step in steps),
        inputs=inputs,
        seeds={f"aoti/{header}": f"{SHIM_HEADERS}/{header}" for header in seeds},
    )


def build_steps(*flags: str) -> Iterable[Command]:
    """What PyTorch's build runs: at configure time a dry run that lists the outputs, later the run, for each kind."""
    for kind in ("headers", "sources", "declarations_yaml"):
        shared = (*FOLDERS, *flags, "--generate", kind)
        yield (*shared, "--dry-run", "--output-dependencies", f"generated_{kind}.cmake")
        yield shared


def generate(name: str, *flags: str) -> Job:
    """A job of the command `opwright generate`, whose outputs are laid out as PyTorch's build lays them out."""
    families = ("headers", "sources", "declarations_yaml")
    folders = (
        *("--install-dir", "aten/src/ATen"),
        *("--aoti-install-dir", SHIM_HEADERS),
        *("--headeronly-install-dir", "torch/headeronly/core"),
    )
    only = tuple(word for family in families for word in ("--only", family))
    return Job(
        name,
        reference=(("-m", "torchgen.gen", "--source-path", "{aten}", *folders, *PER_OPERATOR, *flags),),
        opwright=(("-m", "opwright", "generate", "--source-path", "{aten}", "--out", ".", *only, *flags),),
    )


# The programs for autograd and Python. The reference runs each in a process of its own, because its first program
# leaves derivatives of foreach operators in a cache that changes what its second one writes.

INPUTS = ("{native}", "{tags}", "out", "{autograd}")
AUTOGRAD_MODULE = "torchgen.packaged.autograd.gen_autograd"
PLAIN_CALL = "import sys, {module} as program; program.{function}(*sys.argv[1:])"
SELECTED_CALL = (
    "import sys, torchgen.packaged.autograd.gen_autograd as program, torchgen.selective_build.selector as selector; "
    "sys.modules['__main__'].__file__ = sys.argv[6]; "
    "chosen = selector.SelectiveBuilder.from_yaml_path(sys.argv[5]); "
    "program.gen_autograd(*sys.argv[1:5], chosen, disable_autograd={disabled})"
)
VIEW_META_CALL = (
    "import sys, torchgen.gen_functionalization_type as program, torchgen.selective_build.selector as selector; "
    "sys.modules['__main__'].__file__ = sys.argv[6]; "
    "chosen = selector.SelectiveBuilder.from_yaml_path(sys.argv[3]); "
    "program.gen_functionalization_view_meta_classes(*sys.argv[1:3], chosen, *sys.argv[4:6])"
)
VIEW_META_PLACES = (
    *("{native}", "{tags}", "{selection}/all.yaml", "functionalization", "{aten}/templates"),
    "{root}/" + BUILD_PROGRAM,
)


def reference_autograd(
    selection: str, *, disabled: bool = False, program: str = "torchgen/packaged/autograd/gen_autograd.py"
) -> Command:
    """The reference's autograd program with a selection, by name, as if `program` had been started for it.

    What the reference writes names the program that was started, by its path in the folder of inputs.
    """
    selected = f"{{selection}}/{selection}.yaml"
    return ("-c", SELECTED_CALL.format(disabled=disabled), *INPUTS, selected, f"{{root}}/{program}")


def reference_call(module: str, function: str) -> Command:
    """A function of the reference that takes the four usual paths."""
    return ("-c", PLAIN_CALL.format(module=module, function=function), *INPUTS)


def autograd(inputs: str = "pytorch", suffix: str = "") -> Job:
    """The autograd job as the drop-in program runs it."""
    return Job(
        f"autograd{suffix}",
        reference=(("-m", AUTOGRAD_MODULE, *INPUTS),),
        opwright=(("-m", "opwright.torchgen.gen_autograd", *INPUTS),),
        inputs=inputs,
    )


def autograd_selected(name: str, selection: str, *, disabled: bool = False) -> Job:
    """The autograd job with a selection, or without autograd; the drop-in program takes both as flags."""
    flags = ("--operators-yaml-path", f"{{selection}}/{selection}.yaml", *(["--disable-autograd"] if disabled else []))
    return Job(
        name,
        reference=(reference_autograd(selection, disabled=disabled),),
        opwright=(("-m", "opwright.torchgen.gen_autograd", *INPUTS, *flags),),
    )


def python_bindings(inputs: str = "pytorch", suffix: str = "") -> Job:
    """The job for the Python bindings."""
    return Job(
        f"python{suffix}",
        reference=(reference_call(AUTOGRAD_MODULE, "gen_autograd_python"),),
        opwright=(("-m", "opwright.torchgen.gen_autograd_python", *INPUTS),),
        inputs=inputs,
    )


def annotated(inputs: str = "pytorch", suffix: str = "") -> Job:
    """The job for the annotated arguments."""
    return Job(
        f"annotated{suffix}",
        reference=(("-m", "torchgen.packaged.autograd.gen_annotated_fn_args", *INPUTS),),
        opwright=(("-m", "opwright.torchgen.gen_annotated_fn_args", *INPUTS),),
        inputs=inputs,
    )


def generate_code(name: str, subset: str, *reference: Command, inputs: str = "pytorch") -> Job:
    """A job of the program that PyTorch's build calls for everything but ATen, for one subset."""
    flags = ("--native-functions-path", "{native}", "--tags-path", "{tags}", "--install-dir", ".", "--subset", subset)
    view_meta = ("-c", VIEW_META_CALL, *VIEW_META_PLACES)
    return Job(
        name,
        reference=tuple(tuple(BUILD_FOLDERS.get(word, word) for word in step) for step in (*reference, view_meta)),
        opwright=(("-m", "opwright.torchgen.generate_code", *flags),),
        inputs=inputs,
    )


# Where that program puts the files, instead of the folders used above.
BUILD_FOLDERS = {"out": "autograd/generated", "functionalization": "functionalization/generated"}


# The program for external backends. That of older releases looks for PyTorch's files where a source tree has them.
BACKEND_CALL = """
import os, sys, tempfile
import torchgen.gen_backend_stubs as program
sys.modules["__main__"].__file__ = program.__file__
with tempfile.TemporaryDirectory() as root:
    os.makedirs(root + "/aten/src")
    os.symlink(sys.argv.pop(1), root + "/aten/src/ATen")
    program.__file__ = root + "/torchgen/gen_backend_stubs.py"
    program.main()
"""
WRITE_LARGE = "{tests}/backend/write_large.py"
BACKEND_ARGUMENTS = ("-s", "backend/large.yaml", "-o", "backend")


def backend(name: str, program: Command = ("-m", "torchgen.gen_backend_stubs"), inputs: str = "pytorch") -> Job:
    """A job of the program for external backends: a file with all operators that a backend may have kernels for.

    Both sides write the file first, from the operators of the inputs.
    """
    written = (WRITE_LARGE, "{native}", "backend/large.yaml")
    ours = ("-m", "opwright.torchgen.gen_backend_stubs", "--source-path", "{aten}")
    return Job(
        name,
        reference=(written, (*program, *BACKEND_ARGUMENTS)),
        opwright=(written, (*ours, *BACKEND_ARGUMENTS)),
        inputs=inputs,
    )


def backend_of_release(release: str) -> Job:
    """The job of external backends for a release."""
    return backend("backend", ("-c", BACKEND_CALL, "{aten}"), release)


def tree_jobs() -> list[Job]:
    """Jobs that run the reference as builds do: its programs as scripts, or as modules, of a source tree."""
    main = ("--source-path", "{aten}", *FOLDERS, *PER_OPERATOR)
    autograd_program = ("tools.autograd.gen_autograd", "opwright.torchgen.gen_autograd")
    annotated_program = ("tools.autograd.gen_annotated_fn_args", "opwright.torchgen.gen_annotated_fn_args")
    jobs = [
        Job(f"tree-{name}", (("-m", reference, *INPUTS),), (("-m", ours, *INPUTS),), TREE)
        for name, (reference, ours) in (("autograd", autograd_program), ("annotated", annotated_program))
    ]
    for subset in ("libtorch", "pybindings"):
        program = ("{root}/" + BUILD_PROGRAM, *INPUTS, subset)
        jobs.append(generate_code(f"tree-{subset}", subset, program, inputs=TREE))
    ours = ("-m", "opwright.torchgen.gen", *main)
    jobs.append(backend("tree-backend", ("{root}/torchgen/gen_backend_stubs.py",), inputs=TREE))
    return [*jobs, Job("tree-gen", (("{root}/torchgen/gen.py", *main),), (ours,), TREE)]


# Lazy tensors. The reference has no flags for what PyTorch's build asks for, which calls a function.

LAZY_CALL = (
    "import sys, torchgen.gen_lazy_tensor as program, torchgen.dest.lazy_ir as nodes; "
    "sys.modules['__main__'].__file__ = sys.argv[4]; "
    "program.run_gen_lazy_tensor(sys.argv[1], sys.argv[2], './lazy/generated', False, sys.argv[3], 'TsNode', "
    "'torch/csrc/lazy/ts_backend/ts_node.h', lazy_ir_generator=nodes.GenTSLazyIR, build_in_tree=True, "
    "per_operator_headers={per_operator}, backend_name='TorchScript', gen_forced_fallback_code=True)"
)
# The reference's program looks for ATen where it never is, so it is told another place of its own file.
LAZY_PROGRAM = (
    "import sys, torchgen.gen_lazy_tensor as program; sys.modules['__main__'].__file__ = program.__file__; "
    "program.__file__ = sys.argv.pop(1); program.main()"
)
LAZY_KERNELS = "torch/csrc/lazy/ts_backend/ts_native_functions.cpp"
LAZY_SHAPES = "torch/csrc/lazy/core/shape_inference.h"
TORCHSCRIPT = ("--gen-ts-lowerings", "--node-base", "TsNode", "--node-base-hdr", "torch/csrc/lazy/ts_backend/ts_node.h")


def lazy_build(inputs: str = LAZY, *, per_operator: bool = True) -> Job:
    """The job of lazy tensors as PyTorch's build runs it."""
    call = LAZY_CALL.format(per_operator=per_operator)
    places = ("{aten}", "{aten}/native/ts_native_functions.yaml", LAZY_KERNELS, "{root}/" + BUILD_PROGRAM)
    annotated_call = reference_call("torchgen.packaged.autograd.gen_annotated_fn_args", "gen_annotated")
    folders = {**BUILD_FOLDERS, "out": "."}
    build = (annotated_call, ("-c", VIEW_META_CALL, *VIEW_META_PLACES), ("-c", call, *places))
    flags = ("--native-functions-path", "{native}", "--tags-path", "{tags}", "--install-dir", ".", "--subset", "python")
    ours = ("-m", "opwright.torchgen.generate_code", *flags, "--gen-lazy-ts-backend")
    return Job(
        "lazy-build" if per_operator else "lazy-build-aggregated",
        reference=tuple(tuple(folders.get(word, word) for word in step) for step in build),
        opwright=((*ours, *(PER_OPERATOR if per_operator else ())),),
        inputs=inputs,
        seeds={path: f"{{root}}/include/{path}" for path in (LAZY_KERNELS, LAZY_SHAPES)},
    )


def lazy_tensors(name: str, source: str, *flags: str, inputs: str = LAZY) -> Job:
    """A job of the program for lazy tensors, with a YAML file among the inputs."""
    arguments = ("-s", source, "-o", "out", *flags)
    return Job(
        f"lazy-{name}",
        reference=(("-c", LAZY_PROGRAM, "{root}/tree/torchgen/program/gen_lazy_tensor.py", *arguments),),
        opwright=(("-m", "opwright.torchgen.gen_lazy_tensor", "--source-path", "{aten}", *arguments),),
        inputs=inputs,
        seeds={LAZY_SHAPES: f"{{root}}/include/{LAZY_SHAPES}"},
    )


def lazy_program(inputs: str = LAZY) -> Job:
    """The job of the program for lazy tensors, with all operators of the TorchScript backend."""
    return lazy_tensors("program", "{aten}/native/ts_native_functions.yaml", *TORCHSCRIPT, inputs=inputs)


def lazy_wide(inputs: str = LAZY) -> Job:
    """The job of the program for lazy tensors with every operator for which it can generate a kernel."""
    flags = (*TORCHSCRIPT, "--shape-inference-hdr", "{root}/lazy/wide.h")
    return lazy_tensors("wide", "{root}/lazy/wide.yaml", *flags, inputs=inputs)


def lazy_flag_jobs(inputs: str = LAZY) -> list[Job]:
    """The other jobs of lazy tensors: flags, and other YAML files."""
    own = ("--tensor-class", "acme::Tensor", "--tensor-class-hdr", "acme/tensor.h", "--backend-name", "")
    return [
        lazy_build(inputs, per_operator=False),
        lazy_tensors("plain", "{aten}/native/ts_native_functions.yaml", inputs=inputs),
        lazy_tensors("reduced", "{root}/lazy/reduced.yaml", *TORCHSCRIPT, inputs=inputs),
        lazy_tensors("otherwise", "{root}/lazy/otherwise.yaml", *TORCHSCRIPT, *own, inputs=inputs),
        lazy_tensors("out-first", "{root}/lazy/out_first.yaml", *own, inputs=inputs),
        lazy_wide(inputs),
    ]


# Static runtime. The reference's program logs with a module that is not public, and needs a formatter.

STATIC_RUNTIME_CALL = (
    "import sys, types; sys.modules.update({name: types.ModuleType(name) for name in ('libfb', 'libfb.py')}); "
    "log = sys.modules['libfb.py.log'] = types.ModuleType('log'); log.set_simple_logging = None; "
    "import torchgen.static_runtime.gen_static_runtime_ops as program; "
    "program.clang_format = lambda path: None; program.main()"
)


def static_runtime(inputs: str = "pytorch", suffix: str = "") -> Job:
    """The job of static runtime's operators and tests, before they are formatted."""
    arguments = ("-s", "{aten}", "-p", "generated_ops.cpp", "-t", "test_generated_ops.cc")
    return Job(
        f"static-runtime{suffix}",
        reference=(("-c", STATIC_RUNTIME_CALL, *arguments),),
        opwright=(("-m", "opwright.torchgen.gen_static_runtime_ops", *arguments, "--no-format"),),
        inputs=inputs,
    )


#: Stands for the reference, which is in no wheel: what it wrote is in every one.
COPY_SHIPPED = "import shutil, sys; shutil.copytree(sys.argv[1], '.', dirs_exist_ok=True)"
STUB_PATHS = (
    "--native-functions-path", "{native}", "--tags-path", "{tags}",
    "--deprecated-functions-path", "{autograd}/deprecated.yaml", "--template-dir", "{root}", "--out", ".",
)  # fmt: skip
DOCSTRINGS = ("torch/_torch_docs.py", "torch/_tensor_docs.py")


def torch_stubs(name: str = "torch-stubs", inputs: str = STUBS) -> Job:
    """The stub files of torch, by the drop-in program and by our own command, into the same folder."""
    generate = ("-m", "opwright", "generate", "--source-path", "{root}", "--only", "torch_stubs", "--out", ".")
    return Job(
        name,
        reference=(("-c", COPY_SHIPPED, "{root}/shipped"),),
        opwright=(("-m", "opwright.torchgen.gen_pyi", *STUB_PATHS), (*generate, "--check")),
        inputs=inputs,
        seeds={path: f"{{root}}/{path}" for path in DOCSTRINGS},
    )


#: The releases of which `make conformance-full` compares the smaller programs. `make conformance-releases` takes all.
PROGRAM_RELEASES = ("2.9.1", "2.11.0", "2.15.0")


def release_stub_jobs() -> list[Job]:
    """The stub files of some other releases."""
    return [torch_stubs(f"torch-stubs-{release}", f"{STUBS}@{release}") for release in PROGRAM_RELEASES]


# Upgraders of mobile models. The reference's program writes into the source tree that it belongs to.

UPGRADERS_CALL = (
    "import torchgen.operator_versions.gen_mobile_upgraders as program; "
    "program.write_cpp('.', program.sort_upgrader(program.generate_upgraders_bytecode()))"
)


def upgraders() -> Job:
    """The job of upgraders, with the bytecode of the installed PyTorch."""
    ours = ("-m", "opwright.torchgen.gen_mobile_upgraders", "--out", ".")
    return Job("upgraders", reference=(("-c", UPGRADERS_CALL),), opwright=(ours,))


def usual_jobs() -> list[Job]:
    """The jobs that every run of the checks compares."""
    return [
        aten("headers", *PER_OPERATOR, "--generate", "headers"),
        aten("headers-aggregated", "--generate", "headers"),
        aten("headers-devices", *PER_OPERATOR, *DEVICES, "--generate", "headers"),
        aten("headers-rocm", *PER_OPERATOR, "--rocm", "--generate", "headers"),
        aten("sources", *PER_OPERATOR, "--generate", "sources"),
        aten("declarations", *PER_OPERATOR, "--generate", "declarations_yaml"),
        aten("full", *PER_OPERATOR),
        autograd(),
        python_bindings(),
        annotated(),
        generate_code("generate-code-libtorch", "libtorch", reference_autograd("all", program=BUILD_PROGRAM)),
        generate_code("generate-code-pybindings", "pybindings", reference_call(AUTOGRAD_MODULE, "gen_autograd_python")),
        lazy_build(),
        lazy_program(),
        backend("backend"),
        static_runtime(),
        upgraders(),
        torch_stubs(),
    ]


def flag_jobs() -> list[Job]:
    """Jobs that between them use every flag of the main program, in combinations that meet in real builds."""
    whitelist = ("aten::add", "aten::empty", "aten::conv2d", "aten::_softmax", "aten::view")
    some_backends = ("CPU", "CUDA", "QuantizedCPU", "SparseCPU")
    shims = [f"c_shim_{device}.h" for device in ("aten", "cpu", "cuda")]
    selected = "--op-selection-yaml-path"
    return [
        aten("flags-aggregated"),
        aten("flags-devices", *PER_OPERATOR, *DEVICES),
        aten("flags-devices-aggregated", *DEVICES),
        aten("flags-mps", *PER_OPERATOR, "--mps"),
        aten("flags-xpu", *PER_OPERATOR, "--xpu"),
        aten("flags-rocm", *PER_OPERATOR, "--rocm"),
        aten("flags-rocm-devices-aggregated", "--rocm", *DEVICES),
        aten("flags-whitelist", *PER_OPERATOR, "--op-registration-whitelist", *whitelist),
        aten("flags-whitelist-empty", *PER_OPERATOR, "--op_registration_whitelist"),
        aten(
            "flags-whitelist-forced",
            *PER_OPERATOR,
            "--force_schema_registration",
            "--op-registration-whitelist",
            *whitelist,
        ),
        aten("flags-selection-training", *PER_OPERATOR, selected, "{selection}/training.yaml"),
        aten("flags-selection-overloads", selected, "{selection}/overloads.yaml", "--force-schema-registration"),
        aten("flags-selection-kernels", *PER_OPERATOR, selected, "{selection}/kernels.yaml"),
        aten("flags-selection-empty", *PER_OPERATOR, "--op_selection_yaml_path", "{selection}/empty.yaml"),
        aten("flags-selection-all", selected, "{selection}/all.yaml"),
        aten("flags-backends", *PER_OPERATOR, "--backend-whitelist", *some_backends),
        aten("flags-backends-aggregated", "--backend_whitelist", "CPU", "Meta"),
        aten("flags-static-cpu", *PER_OPERATOR, "--static-dispatch-backend", "CPU"),
        aten("flags-static-two", "--static_dispatch_backend", "CPU", "QuantizedCPU"),
        aten("flags-static-none", "--static-dispatch-backend", "XPU"),
        aten(
            "flags-static-odd", *PER_OPERATOR, "--static-dispatch-backend", "AutogradCPU", "CPU", "SparseMeta", "MTIA"
        ),
        aten(
            "flags-static-skip", *PER_OPERATOR, "--static-dispatch-backend", "CPU", "--skip_dispatcher_op_registration"
        ),
        aten("flags-skip-registration", "--skip-dispatcher-op-registration"),
        aten("flags-shim-update", *PER_OPERATOR, "--update-aoti-c-shim", "--generate", "headers", "sources"),
        aten("flags-shim-existing", *PER_OPERATOR, "--generate", "headers", seeds=shims),
        aten("flags-shim-extend", "--extend-aoti-c-shim", "--generate", "sources"),
        aten("flags-default-headeronly", "--generate", "headers", folders=FOLDERS[:4]),
        aten_steps("flags-build", *build_steps(*PER_OPERATOR)),
        aten_steps("flags-build-aggregated", *build_steps(*DEVICES)),
        generate("flags-generate", *DEVICES),
        autograd_selected("autograd-disabled", "all", disabled=True),
        autograd_selected("autograd-training", "training"),
        *lazy_flag_jobs(),
    ]


def mutated_jobs() -> list[Job]:
    """Jobs on inputs made from PyTorch's, so that nothing can depend on PyTorch's operators."""
    jobs = []
    for inputs in ("third", "namespace", "overloads"):
        jobs += [
            aten(f"mutated-{inputs}", *PER_OPERATOR, inputs=inputs),
            aten(f"mutated-{inputs}-aggregated", *DEVICES, inputs=inputs),
        ]
    for inputs in ("third", "overloads", "derivatives"):
        suffix = f"-mutated-{inputs}"
        jobs += [autograd(inputs, suffix), python_bindings(inputs, suffix)]
    jobs += [annotated("third", "-mutated-third")]
    for inputs in ("templates", "templates-again"):
        jobs += [
            aten(f"mutated-{inputs}", *PER_OPERATOR, inputs=inputs),
            aten(f"mutated-{inputs}-aggregated", inputs=inputs),
        ]
        jobs += [autograd(inputs, f"-mutated-{inputs}"), python_bindings(inputs, f"-mutated-{inputs}")]
        libtorch = reference_autograd("all", program=BUILD_PROGRAM)
        jobs += [generate_code(f"generate-code-mutated-{inputs}", "libtorch", libtorch, inputs=inputs)]
    for inputs in ("third", "namespace", "overloads", "templates", "templates-again"):
        lazy = (lazy_program(f"{LAZY}-{inputs}"), lazy_wide(f"{LAZY}-{inputs}"))
        jobs += [replace(job, name=f"{job.name}-mutated-{inputs}") for job in lazy]
    sources = ("--generate", "sources")
    for inputs in ("third", "overloads", "registrations", "templates", "templates-again"):
        jobs.append(backend(f"backend-mutated-{inputs}", inputs=inputs))
    jobs += [static_runtime(inputs, f"-mutated-{inputs}") for inputs in ("third", "namespace", "overloads", "numbers")]
    return [
        *jobs,
        aten("mutated-shims", *PER_OPERATOR, "--update-aoti-c-shim", *sources, inputs="shims"),
        aten("mutated-shims-extended", "--extend-aoti-c-shim", "--update-aoti-c-shim", *sources, inputs="shims"),
        aten("mutated-shims-2.15", "--update-aoti-c-shim", *sources, inputs="shims@2.15.0"),
    ]


def full_jobs() -> list[Job]:
    """Every job there is."""
    from tests.conformance.executorch_jobs import full_jobs as executorch_jobs
    from tests.conformance.executorch_tool_jobs import big_selection_jobs, tool_jobs
    from tests.conformance.release_jobs import program_release_jobs
    from tests.conformance.selection_jobs import selection_jobs
    from tests.conformance.shipped import shipped_lazy_job

    jobs = [*usual_jobs(), *tree_jobs(), *flag_jobs(), *mutated_jobs(), *release_stub_jobs(), *executorch_jobs()]
    jobs += [*selection_jobs(), *big_selection_jobs(), *tool_jobs()]
    jobs += [job for release in PROGRAM_RELEASES for job in program_release_jobs(release)]
    return [*jobs, *map(shipped_lazy_job, (*PROGRAM_RELEASES, "2.13.0"))]


Matrix = Callable[[], list[Job]]


def chosen_jobs(matrix: Matrix, only: str, part: str = "1/1") -> list[Job]:
    """The jobs of `matrix` whose names start with one of the words in `only`; an empty `only` chooses all.

    Of these, `part` `2/3` chooses every third one, from the second on.
    """
    words = only.replace(",", " ").split()
    jobs = [job for job in matrix() if not words or job.name.startswith(tuple(words))]
    first, step = map(int, part.split("/"))
    return jobs[first - 1 :: step]
