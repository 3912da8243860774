"""Rules that generate code with Opwright, and compile operator libraries.

    load("@opwright_rules//:opwright.bzl", "opwright_library")
    load(":operators.bzl", "ACTIONS")

    opwright_library(
        name = "acme_ops",
        actions = ACTIONS,
        srcs = ["csrc/kernels.cpp"],
    )

`operators.bzl` is what `opwright generate ARGUMENTS --out gen --describe bazel --describe-to operators.bzl` writes, called
in the folder of the BUILD file. It lists the inputs and the outputs of each action. The actions are hermetic: they read
nothing else, write nothing else, and need neither the network nor an environment.
"""

OpwrightInfo = provider(
    doc = "How actions call Opwright.",
    fields = {
        "executable": "A file, or the path of a program on the machines that run actions.",
        "arguments": "What comes first on its command line.",
        "files": "A depset of the files that it needs.",
    },
)

_TOOLCHAIN = "@bazel_tools//tools/python:toolchain_type"

# No variable, no user's folder and no site-packages matter, and no bytecode is written.
_ISOLATED = ["-I", "-S", "-B"]

def _interpreter(ctx):
    """The interpreter, a file or a path, and what it needs."""
    if ctx.attr.interpreter:
        return ctx.file.interpreter, depset(ctx.files.interpreter_files)
    if ctx.attr.interpreter_path:
        return ctx.attr.interpreter_path, depset()
    runtime = ctx.toolchains[_TOOLCHAIN].py3_runtime
    return runtime.interpreter or runtime.interpreter_path, runtime.files or depset()

def _place_of(file, package_folder):
    """The path of a file seen from the folder that has its package: one with this name, or that of its BUILD file."""
    _, marker, place = file.path.partition("/" + package_folder + "/")
    top = "/".join([part for part in [file.owner.workspace_root, file.owner.package] if part])
    return place if marker else file.path[len(top) + 1 if top else 0:]

def _python_tool_impl(ctx):
    executable, needed = _interpreter(ctx)
    compiled = ctx.actions.declare_directory(ctx.label.name + ".packages")
    files = ctx.actions.declare_file(ctx.label.name + ".packages.txt")
    rows = ["%s\t%s\n" % (file.path, _place_of(file, ctx.attr.package_folder)) for file in ctx.files.packages]
    ctx.actions.write(files, "".join(rows))
    ctx.actions.run(
        executable = executable,
        arguments = _ISOLATED + [ctx.file._compile.path, compiled.path, files.path],
        inputs = depset(ctx.files.packages + [ctx.file._compile, files], transitive = [needed]),
        outputs = [compiled],
        env = {},
        mnemonic = "OpwrightPackages",
        progress_message = "Compiling the packages of Opwright",
        execution_requirements = {"block-network": "1"},
    )
    code = "import sys; sys.path.insert(0, %r); from opwright.cli.main import program; program()" % compiled.path
    files = depset([compiled], transitive = [needed])
    return [OpwrightInfo(executable = executable, arguments = _ISOLATED + ["-c", code], files = files)]

opwright_python_tool = rule(
    implementation = _python_tool_impl,
    doc = "Opwright as Python packages, which an action compiles to bytecode, and an interpreter that runs them.",
    attrs = {
        "interpreter": attr.label(
            doc = "The interpreter, a file; without it and `interpreter_path`, that of the Python toolchain.",
            allow_single_file = True,
            cfg = "exec",
        ),
        "interpreter_files": attr.label_list(
            doc = "What the interpreter needs, such as its standard library.",
            allow_files = True,
            cfg = "exec",
        ),
        "interpreter_path": attr.string(
            doc = "The interpreter's path on the machines that run actions: Python 3.10 or newer.",
        ),
        "package_folder": attr.string(
            doc = "The name of a folder that has packages. Others are beside the BUILD file that names them.",
            default = "site-packages",
        ),
        "packages": attr.label_list(
            doc = "The files of the packages that `opwright generate --describe json` names.",
            allow_files = True,
            cfg = "exec",
            mandatory = True,
        ),
        "_compile": attr.label(
            allow_single_file = True,
            default = "//:compile_packages.py",
        ),
    },
    toolchains = [_TOOLCHAIN],
)

def _binary_tool_impl(ctx):
    # With `files_to_run`, Bazel puts the runfiles of the program where it looks for them.
    return [OpwrightInfo(executable = ctx.attr.binary[DefaultInfo].files_to_run, arguments = [], files = depset())]

opwright_binary_tool = rule(
    implementation = _binary_tool_impl,
    doc = "Opwright as a program that another rule builds or that is there already, such as a `py_binary`.",
    attrs = {"binary": attr.label(cfg = "exec", executable = True, mandatory = True, allow_files = True)},
)

def _action_impl(ctx):
    tool = ctx.attr.opwright[OpwrightInfo]
    package = "/".join([part for part in [ctx.label.workspace_root, ctx.label.package] if part])
    out = "/".join([part for part in [ctx.bin_dir.path, package, ctx.attr.out] if part])

    # The path of any of PyTorch's inputs shows where their top is.
    torch = ""
    for target, path in ctx.attr.torch_srcs.items():
        file = target.files.to_list()[0].path
        if not file.endswith("/" + path) and file != path:
            fail("%s is not the input %s of PyTorch" % (file, path))
        torch = file[:len(file) - len(path)].rstrip("/") or "."
    places = {"{torch}": torch, "{package}": package or "."}
    arguments = []
    for argument in ctx.attr.arguments:
        head, slash, rest = argument.partition("/")
        text = places.get(head, head) + slash + rest
        arguments.append(ctx.expand_location(text, ctx.attr.srcs))
    torch_files = [file for target in ctx.attr.torch_srcs for file in target.files.to_list()]
    folders = {folder: ctx.actions.declare_directory(ctx.attr.out + "/" + folder) for folder in ctx.attr.folders}
    outputs = ctx.outputs.outs + [folders[folder] for folder in ctx.attr.folders]
    ctx.actions.run(
        executable = tool.executable,
        arguments = tool.arguments + ["generate", "--out", out] + arguments + ["--jobs", "1"],
        inputs = depset(ctx.files.srcs + torch_files, transitive = [tool.files]),
        outputs = outputs,
        env = {},
        mnemonic = "Opwright",
        progress_message = "Generating code from operators for %s" % ctx.label,
        execution_requirements = {"block-network": "1"},
    )
    groups = {folder: depset([file]) for folder, file in folders.items()}
    return [DefaultInfo(files = depset(outputs)), OutputGroupInfo(**groups)]

_opwright_action = rule(
    implementation = _action_impl,
    doc = "One action of a description.",
    attrs = {
        "arguments": attr.string_list(),
        "folders": attr.string_list(),
        "opwright": attr.label(providers = [OpwrightInfo], cfg = "exec"),
        "out": attr.string(),
        "outs": attr.output_list(),
        "srcs": attr.label_list(allow_files = True),
        "torch_srcs": attr.label_keyed_string_dict(allow_files = True),
    },
)

# Arguments of rules that run something, which those that name files do not have.
_OF_ACTIONS = ["exec_compatible_with", "exec_properties"]

# Arguments that all rules have: a macro gives them to each.
_OF_ALL = _OF_ACTIONS + ["tags", "target_compatible_with", "testonly", "visibility"]

# The groups of a library's folders; others have the names of their folders.
_GROUPS = {"include": "headers", "src": "sources"}

def _group(name, srcs, output_group = None, **kwargs):
    native.filegroup(
        name = name,
        srcs = srcs,
        output_group = output_group,
        **{key: value for key, value in kwargs.items() if key not in _OF_ACTIONS}
    )

def opwright_generate(name, actions, opwright = "@opwright//:opwright", torch = "@opwright//:torch/", **kwargs):
    """Generates the files of a description.

    Makes the filegroups NAME with all files, NAME_headers, NAME_sources and NAME_python. Each file also has a label,
    NAME/PATH; the folder of headers is NAME/include. If the description has folders (`--describe bazel-folders`), there
    is a group for each of them instead, such as NAME_aten, and files have no labels.

    Args:
      name: the name of the filegroup, and of the folder that the files are in.
      actions: the list `ACTIONS` of the description.
      opwright: the tool, an `opwright_python_tool` or an `opwright_binary_tool`.
      torch: the beginning of the labels of PyTorch's inputs; their paths follow it. For a source tree that is the
        workspace, this is `//:`.
      **kwargs: arguments of all rules, such as `visibility`, `tags` or `exec_properties`.
    """
    outs = []
    folders = []
    for action in actions:
        own = [name + "/" + path for path in action.outs]
        outs += own
        folders += getattr(action, "folders", [])
        _opwright_action(
            name = name + "." + action.name,
            arguments = action.arguments,
            folders = getattr(action, "folders", []),
            opwright = opwright,
            out = name,
            outs = own,
            srcs = action.srcs,
            torch_srcs = {torch + path: path for path in action.torch_srcs},
            **kwargs
        )
    everything = [":%s.%s" % (name, action.name) for action in actions]
    _group(name, everything, **kwargs)
    for folder in folders:
        _group(name + "_" + _GROUPS.get(folder, folder), everything, folder, **kwargs)
    if not folders:
        _group(name + "_headers", _ending(outs, (".h",)), **kwargs)
        _group(name + "_sources", _ending(outs, (".cpp", ".cu")), **kwargs)
        _group(name + "_python", _ending(outs, (".py", ".pyi", ".typed")), **kwargs)

def _ending(paths, suffixes):
    return [path for path in paths if path.endswith(suffixes)]

def opwright_library(
        name,
        actions,
        srcs,
        deps = ["@opwright//:headers"],
        copts = [],
        opwright = "@opwright//:opwright",
        torch = "@opwright//:torch/",
        cc_library = getattr(native, "cc_library", None),
        **kwargs):
    """An operator library: generates code, and compiles it with the author's sources.

    Args:
      name: the name of the `cc_library`. NAME_code is the `opwright_generate`.
      actions: the list `ACTIONS` of the description.
      srcs: the author's sources and headers.
      deps: what has the headers of PyTorch and of Opwright.
      copts: more arguments of the compiler.
      opwright: the tool.
      torch: the beginning of the labels of PyTorch's inputs.
      cc_library: the rule, for versions of Bazel that load it from `rules_cc`.
      **kwargs: other arguments of the `cc_library`; those that all rules have, such as `tags`, also reach the actions.
    """
    if cc_library == None:
        fail("this version of Bazel has no rules for C++: pass `cc_library` from `@rules_cc//cc:defs.bzl`")
    shared = {key: value for key, value in kwargs.items() if key in _OF_ALL}
    opwright_generate(name = name + "_code", actions = actions, opwright = opwright, torch = torch, **shared)
    cc_library(
        name = name,
        srcs = [":" + name + "_code_sources"] + srcs,
        hdrs = [":" + name + "_code_headers"],
        includes = [name + "_code/include"],
        copts = ["-std=c++20", "-DAT_PER_OPERATOR_HEADERS"] + copts,
        deps = deps,
        # Registrations run when the library is loaded; nothing refers to them.
        alwayslink = True,
        **kwargs
    )

_FIND = """
import importlib.util, json, os, sys
folders = {}
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.origin:
        folders[name] = os.path.dirname(spec.origin)
print(json.dumps(folders))
"""

_PACKAGES = ["opwright", "yaml", "_yaml", "tree_sitter", "tree_sitter_cpp"]

# Inputs that actions may have, by their paths from the folder of packages.
_TORCH_INPUTS = [
    "torchgen/aoti/fallback_ops.py",
    "torchgen/packaged",
    "torch/_native/ops",
    "torch/_tensor_docs.py",
    "torch/_torch_docs.py",
    "torch/include/torch/csrc/autograd/FunctionsManual.h",
    "torch/version.py",
]

# Rules that newer versions of Bazel do not have themselves.
_LOADS = """
load("@rules_cc//cc:defs.bzl", "cc_import", "cc_library")
load("@rules_python//python:defs.bzl", "py_library")
"""

_BUILD = """
load("@opwright_rules//:opwright.bzl", "opwright_python_tool")
{loads}
package(default_visibility = ["//visibility:public"])

opwright_python_tool(
    name = "opwright",
    exec_properties = {exec_properties},
    interpreter_path = {interpreter},
    packages = [":packages"],
)

filegroup(
    name = "packages",
    srcs = glob(
        ["site-packages/**"],
        exclude = ["site-packages/**/__pycache__/**", "site-packages/opwright/libraries/include/**"],
    ),
)

py_library(
    name = "python",
    data = [":packages"],
    imports = ["site-packages"],
)

exports_files(glob(["torch/**"]))

cc_library(
    name = "headers",
    hdrs = glob(["include/**", "opwright_include/**"]),
    includes = ["include", "include/torch/csrc/api/include", "opwright_include"],
)

cc_library(
    name = "libraries",
    deps = {libraries},
)
"""

# The linker reads the stub, which has the symbols alone; programs load the library.
_LIBRARY = """
cc_import(
    name = "{name}",
    interface_library = "stubs/lib{name}.so",
    shared_library = "lib/lib{name}.so",
)
"""

_LIBRARIES = ["c10", "torch_cpu", "torch"]

def _opwright_repository_impl(ctx):
    python = ctx.which(ctx.attr.python) if "/" not in ctx.attr.python else ctx.attr.python
    if python == None:
        fail("there is no program %s" % ctx.attr.python)
    found = ctx.execute([python, "-B", "-c", _FIND, "torch", "torchgen"] + _PACKAGES)
    if found.return_code:
        fail("%s cannot look for packages: %s" % (python, found.stderr))
    folders = json.decode(found.stdout)
    for name in ["opwright", "yaml", "torch", "torchgen"]:
        if name not in folders:
            fail("%s has no package %s: name a Python that has Opwright and PyTorch" % (python, name))
    for name in _PACKAGES:
        if name in folders:
            ctx.symlink(folders[name], "site-packages/" + name)
    for path in _TORCH_INPUTS:
        package, _, rest = path.partition("/")
        target = ctx.path(folders[package] + "/" + rest)
        if target.exists:
            ctx.symlink(target, "torch/" + path)
    ctx.symlink(folders["torch"] + "/include", "include")
    ctx.symlink(folders["torch"] + "/lib", "lib")
    ctx.symlink(folders["opwright"] + "/libraries/include", "opwright_include")
    libraries = _make_stubs(ctx, python)
    build = _BUILD.format(
        exec_properties = repr(ctx.attr.exec_properties),
        interpreter = repr(ctx.attr.interpreter or str(python)),
        libraries = repr([":" + name for name in libraries]),
        loads = _LOADS if ctx.attr.load_rules else "",
    )
    ctx.file("BUILD.bazel", build + "".join([_LIBRARY.format(name = name) for name in libraries]))

def _make_stubs(ctx, python):
    """Makes a stub of each library that the linker needs; gives the names of the libraries."""
    libraries = [name for name in _LIBRARIES if ctx.path("lib/lib%s.so" % name).exists]
    for name in libraries:
        library = "lib/lib%s.so" % name
        stub = "stubs/lib%s.so" % name
        made = ctx.execute([python, "-B", ctx.path(Label("//:stub_library.py")), library, stub])
        if made.return_code:
            fail("there is no stub of %s: %s" % (library, made.stderr))
    return libraries

# The attributes of `opwright_repository` that projects choose.
ENVIRONMENT = {
    "exec_properties": attr.string_dict(
        doc = "The `exec_properties` of the action that compiles Opwright's packages.",
    ),
    "interpreter": attr.string(
        doc = "Python on the machines that run actions, such as `/usr/bin/python3`; it needs no packages. Without " +
              "it, actions run `python`, and results in a cache serve those whose environment has the same path.",
    ),
    "python": attr.string(
        doc = "The Python that has Opwright and PyTorch: a path, or a name on PATH.",
        default = "python3",
    ),
}

opwright_repository = repository_rule(
    implementation = _opwright_repository_impl,
    doc = """Opwright and PyTorch as an environment of Python has them; the repository is called `opwright`.

    `@opwright//:opwright` is the tool, `@opwright//:packages` what `opwright_python_tool` takes for a tool of your own,
    `@opwright//:python` a dependency for a `py_binary`, `@opwright//:torch/` the beginning of the labels of PyTorch's inputs,
    `@opwright//:headers` what generated code includes, and `@opwright//:libraries` what it is linked with. After an
    update of the environment, run `bazel sync --configure`.""",
    attrs = dict(
        ENVIRONMENT,
        load_rules = attr.bool(
            doc = "Load rules for C++ and Python from `rules_cc` and `rules_python`, as newer versions of Bazel need it.",
        ),
    ),
    configure = True,
    environ = ["PATH", "VIRTUAL_ENV"],
    local = True,
)
