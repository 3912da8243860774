"""The rooms of the package, and the tests that guard each."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/opwright")


def _same_bytes(*jobs: str) -> tuple[str, ...]:
    """The comparisons of jobs with the files that PyTorch's generator writes, each a test of its own."""
    module = "conformance/test_conformance.py"
    return tuple(f"{module}::test_usual_job_is_identical[{job}]" for job in jobs)


_CORE = _same_bytes("full", "headers-aggregated")
_AUTOGRAD = _same_bytes("autograd")
_PYTHON = _same_bytes("python")
_LAZY = _same_bytes("lazy-program")

#: The page about the command line, which has the help of each command.
_HELP = "test_reference_pages.py::test_pages_are_current"


def _page(name: str) -> str:
    """A page of the documentation whose commands print what it shows."""
    return f"pages/test_pages.py::test_{name}"


#: Files that are rendered from templates and fragments.
_RENDERING = tuple(f"incremental/test_{name}.py" for name in ("emitter_files", "engine", "patch"))

#: Wheels, the servers that have them, and pip's settings.
_WHEELS = tuple(
    f"release/test_{name}.py"
    for name in ("fetch", "hostile_index", "inputs", "pip_settings", "stable_headers", "tls", "wheel")
)

#: The guests of the compiler, whose rows are in its tables.
_GUESTS = ("libraries", "backends", "mobile")

#: The guards of each room, and of parts of a room that other tests guard: folders, modules and single tests below
#: `tests`. A module belongs to the row with the longest name that its path starts with, and to no other. The examples
#: in a module's docstrings guard it too.
ROOMS: dict[str, tuple[str, ...]] = {
    "builds/actions": ("builds/actions",),
    "tools/bindings": ("tools/bindings/test_document.py", "tools/bindings/test_faults.py"),
    "tools/check": ("tools/check", "hints"),
    "cli": (_HELP,),
    "cli/arguments": (
        "cli/test_reference_flags.py",
        "cli/test_generate.py",
        "cli/test_static_dispatch.py",
        "cli/test_usage.py",
        "plugins/test_faults.py",
        _HELP,
    ),
    "cli/bytecode": ("upgraders", _HELP),
    "cli/check": ("tools/check", _HELP),
    "cli/completion": ("cli/test_completion.py", _HELP),
    "cli/conformance": ("cli/test_conformance.py", _HELP),
    "cli/console": ("cli/test_console.py", "cli/test_usage.py", "release/test_cli.py", _HELP),
    "cli/coverage": ("tools/coverage", _HELP, _page("the_page_on_coverage_can_be_followed")),
    "cli/describing": ("builds/actions", _HELP),
    "cli/diff": ("tools/diff", "cli/test_report_files.py", _HELP),
    "cli/dump": ("tools/dump", "cli/test_report_files.py", _HELP, _page("the_page_on_dumps_can_be_followed")),
    "cli/explain": ("tools/explain", "cli/test_explain.py", _HELP),
    "cli/extra_files": ("cli/test_report_files.py", "engine/test_extras.py"),
    "cli/extras": ("cli/test_drop_in_depfile.py", "engine/test_extras.py", "engine/test_stats.py", _HELP),
    "cli/format": ("tools/check/test_layout.py", _HELP),
    "cli/generate": (
        *("cli/test_generate.py", "cli/test_usage.py", "engine/test_stats.py", "engine/test_watching.py"),
        *("builds/actions/test_describing.py", _HELP),
    ),
    "cli/import_library": ("libraries/importing", _HELP, _page("the_page_on_imports_can_be_followed")),
    "cli/input_arguments": ("cli/test_usage.py", "release/test_cli.py", _HELP),
    "cli/lsp": (
        "tools/lsp/test_recipes.py",
        "tools/lsp/test_vscode.py",
        "tools/lsp/test_messages.py",
        "cli/test_usage.py",
        _HELP,
    ),
    "cli/main": ("cli/test_completion.py", "cli/test_console.py", "cli/test_usage.py", _HELP),
    "cli/new": ("libraries/extension/test_new.py", _HELP),
    "cli/plugin_use": ("plugins", _HELP),
    "cli/plugins": ("plugins", _HELP),
    "cli/port": (
        "libraries/porting/test_program.py",
        "libraries/porting/test_cases.py",
        _HELP,
        _page("the_page_on_ports_can_be_followed"),
    ),
    "cli/releases": ("release/test_cli.py", _HELP),
    "cli/runs": (
        *("cli/test_autograd_programs.py", "cli/test_drop_in_depfile.py", "cli/test_drop_in_state.py"),
        *("cli/test_strict.py", "stubs/test_stub_runs.py", _HELP),
    ),
    "cli/schema": (
        "dialects/test_file_schemas.py",
        "tools/diff",
        "tools/dump",
        "upgraders",
        "cli/test_report_files.py",
        _HELP,
    ),
    "cli/select": (
        "selective",
        "cli/test_report_files.py",
        _HELP,
        _page("the_page_on_selective_builds_can_be_followed"),
    ),
    "cli/streams": ("cli/test_console.py", "cli/test_usage.py", "plugins/test_strangers.py", _HELP),
    "cli/stubs": ("stubs", _HELP),
    "cli/upgraders": ("upgraders", "cli/test_usage.py", _HELP),
    "cli/watching": ("engine/test_watching.py", "tools/check/test_watch.py", _HELP),
    "cli/where": ("cli/test_where.py", "engine/test_provenance_files.py", "tools/diff", _HELP),
    "convention": ("convention", "executorch", *_CORE, *_AUTOGRAD, *_PYTHON, *_LAZY),
    "convention/c_shim": ("convention", "emit/test_c_shim.py", "library/python/test_c_shims.py", *_CORE),
    "mobile/executorch/convention": (
        "convention/test_executorch_types.py",
        "executorch",
        "torchgen_interface/test_executorch.py",
    ),
    "mobile/executorch/evalues": ("executorch", "torchgen_interface/test_executorch.py"),
    "backends/lazy/convention": ("convention/test_reference_types.py", "emit/test_lazy.py", "lazy", *_LAZY),
    "convention/python": ("convention", "emit/test_python_bindings.py", *_PYTHON),
    "convention/python/hints": (*("emit/test_hints.py", "hints", "stubs", "torch_stubs"), *_same_bytes("torch-stubs")),
    "libraries/stable_convention": ("library", "emit/test_library_headers.py"),
    "convention/unboxing": ("emit/test_unboxing.py", "cli/test_gen_unboxing.py"),
    "libraries/stubs/types": ("stubs", "torch_stubs", *_same_bytes("torch-stubs")),
    "tools/coverage": ("tools/coverage", _page("the_page_on_coverage_can_be_followed")),
    "backends/dispatch/device_kernels": (
        "tools/coverage",
        "tools/explain/test_agreement.py",
        "tools/explain/test_texts.py",
    ),
    "backends/dispatch": ("emit", "backend", "tools/coverage"),
    "tools/coverage/formats": (
        "tools/coverage/test_texts.py",
        "tools/coverage/test_formats.py",
        "tools/coverage/test_page.py",
    ),
    "backends/dispatch/hand_registrations": (
        "tools/coverage/test_hand_registrations.py",
        "tools/explain/test_agreement.py",
    ),
    "backends/dispatch/registrations": (
        "tools/coverage",
        "tools/explain/test_agreement.py",
        "tools/explain/test_texts.py",
    ),
    "cpp": ("cpp", "convention", *_CORE),
    "cpp/c_types": ("cpp", "executorch/test_cases.py"),
    "cpp/translation": ("cpp",),
    "dialects": ("dialects",),
    "backends/dialect": ("dialects", "backend", "tools/coverage/test_checks.py"),
    "dialects/derivatives": ("dialects", "tools/lsp/test_formulas.py", *_AUTOGRAD),
    "mobile/executorch_dialect": ("dialects", "executorch"),
    "backends/dialect/lazy": ("lazy", "emit/test_lazy.py"),
    "libraries/dialect": ("dialects", "library"),
    "plugins/listed_operators": ("plugins/test_page.py",),
    "backends/dispatch/meta_kernels": ("tools/coverage",),
    "dialects/native_aot": ("dialects/test_native_aot.py", "emit/test_native_aot.py"),
    "dialects/native_functions": ("dialects", "hints", *_CORE),
    "dialects/selection": ("dialects", "selective"),
    "dialects/stub_templates": ("torch_stubs", *_same_bytes("torch-stubs")),
    "mobile/upgraders": ("dialects", "upgraders"),
    "tools/diff": ("tools/diff",),
    "tools/dump": ("tools/dump", _page("the_page_on_dumps_can_be_followed")),
    "emit": ("emit",),
    "emit/aten": ("emit", *_CORE),
    "emit/aten/c_shim": ("emit/test_c_shim.py", "emit/test_older_releases.py", "engine/test_shim_tables.py", *_CORE),
    "emit/aten/unboxing": ("emit/test_unboxing.py", "cli/test_gen_unboxing.py"),
    "emit/autograd": ("emit", "library/test_autograd_code.py", *_AUTOGRAD),
    "emit/autograd/python_functions": ("emit", *_PYTHON),
    "backends/emit": ("emit", "backend"),
    "mobile/executorch": ("executorch", "torchgen_interface/test_executorch.py"),
    "backends/lazy": ("emit", "lazy", *_LAZY),
    "libraries/frameworks": ("frameworks", "emit/test_library_checks.py"),
    "libraries/emit": ("emit", "library"),
    "mobile/upgraders/emitter": ("upgraders",),
    "emit/python": ("emit", *_PYTHON),
    "emit/registry": (
        *("emit/test_registry.py", "engine/test_added_family.py", "cli/test_autograd_programs.py"),
        *(*_CORE, *_AUTOGRAD, *_PYTHON, *_LAZY),
    ),
    **dict.fromkeys(
        ("guests", *[f"{guest}/{table}" for guest in _GUESTS for table in ("families", "rows")]),
        ("emit/test_registry.py", "dialects/test_dialects.py", "core/test_core.py", *_CORE),
    ),
    **dict.fromkeys(
        [
            f"backends/{module}"
            for module in ("derived_wrappers", "extensions", "file_backend", "hook_statements", "kernel_calls")
        ],
        ("emit", "backend"),
    ),
    "emit/autocast": ("emit", *_CORE, *_AUTOGRAD),
    "mobile/static_runtime": ("static_runtime",),
    "libraries/stubs": ("stubs",),
    "emit/torch_stubs": ("torch_stubs", "hints", *_same_bytes("torch-stubs")),
    "tools/explain": ("tools/explain", "cli/test_explain.py"),
    "backends/dispatch/kernel_loops": ("tools/explain/test_resolution.py",),
    "tools/explain/passes": ("tools/explain/test_passes.py",),
    "backends/dispatch/resolution": ("tools/explain/test_resolution.py", "tools/explain/test_page.py"),
    "tools/explain/text": ("tools/explain/test_texts.py", "tools/explain/test_explanations.py", "cli/test_explain.py"),
    "libraries/extension": ("libraries/extension",),
    "libraries/judge": ("libraries/judge",),
    "cli/accept": ("libraries/judge",),
    "files": ("files", "engine/test_cut_short.py"),
    "mobile/static_runtime/formatting": ("static_runtime",),
    "files/plain_files": ("files", "cli/test_limits.py", "engine/test_links.py"),
    "files/plan": ("files", *_RENDERING),
    "mobile/selective/small_outputs": ("selective", "cli/test_report_files.py"),
    "files/template": ("files", *_RENDERING),
    "files/workers": ("engine/test_shared_work.py", "engine/test_cut_short.py"),
    "migrate/calls": ("libraries/importing/test_seeded_lies.py", "libraries/importing/test_recorded_calls.py"),
    "migrate/importing": ("libraries/importing", _page("the_page_on_imports_can_be_followed")),
    "incremental": ("incremental",),
    "incremental/changes": ("incremental/test_changes.py", "engine/test_edits.py", "engine/test_local_edits.py"),
    "incremental/edit": ("engine/test_edits.py", "engine/test_fragments_made.py", "engine/test_local_edits.py"),
    "incremental/identity": ("cli/test_drop_in_state.py", "engine/test_library_runs.py", "engine/test_manifests.py"),
    "incremental/output_folders": ("incremental/test_output_folders.py", "engine/test_pruning.py"),
    "incremental/previous_build": ("engine/test_edits.py", "engine/test_forged_state.py", "engine/test_manifests.py"),
    "incremental/state": ("engine/test_forged_state.py", "engine/test_links.py", "engine/test_manifests.py"),
    "tools/lsp": ("tools/lsp",),
    "model": ("model", "dialects", "emit"),
    "model/dispatch_key": ("model", "dialects", "emit", "release/test_trees.py"),
    "mobile/executorch_operators": ("executorch", "torchgen_interface/test_executorch.py"),
    "model/extra_values": ("model", "plugins/test_extra_keys.py"),
    "backends/lazy_backend": ("lazy", "emit/test_lazy.py"),
    "libraries/operator_library": ("dialects", "library"),
    "model/native_function": ("model", "dialects", "emit", *_CORE),
    "backends/dispatch/runtime_keys": ("tools/explain", "tools/coverage"),
    "model/selection": ("selective",),
    "plugins": ("plugins",),
    "migrate/porting": ("libraries/porting", _page("the_page_on_ports_can_be_followed")),
    "release": ("release",),
    "release/store": ("release", "emit/test_native_aot.py"),
    "release/local": ("release", "core", "torchgen_interface/test_helpers.py"),
    "wheels": _WHEELS,
    "release/operator_names": (
        "release/test_name_tables.py",
        "release/test_trees.py",
        "tools/explain/test_agreement.py",
    ),
    "backends/operator_names": ("release/test_name_tables.py", "tools/coverage/test_against_torch.py"),
    "mobile/operator_names": ("release/test_name_tables.py", "static_runtime"),
    "workspace": ("workspace",),
    "workspace/overlay": ("workspace/test_overlay.py", "tools/lsp/test_rename_operator.py", "tools/lsp/test_worker.py"),
    "release/rules": ("release/test_rules.py", "release/test_trees.py"),
    "release/tree": ("release/test_trees.py", "conformance/test_trees.py", "cli/test_conformance.py"),
    "release/tree_facts": ("release/test_trees.py", "conformance/test_trees.py"),
    "release/version_range": (
        "release/test_version_range.py",
        "dialects/test_library.py",
        "dialects/test_backend_dialect.py",
    ),
    "run": ("engine/test_library_runs.py",),
    "tools/check/checking": ("tools/check", "backend/test_checked_backends.py"),
    "tools/diff/conformance": ("cli/test_conformance.py",),
    "tools/diff/diffing": ("tools/diff",),
    "tools/dump/dumping": ("tools/dump", _page("the_page_on_dumps_can_be_followed")),
    "run/edits": ("engine/test_edits.py", "engine/test_local_edits.py"),
    "mobile/executorch/job": ("executorch",),
    "tools/files/field_schemas": ("dialects/test_file_schemas.py", "plugins/test_key_examples.py"),
    "tools/files/file_kinds": ("tools/check", "cli"),
    "tools/check/findings": ("tools/check", "tools/lsp/test_diagnosis.py"),
    "tools/check/fixing": ("tools/check",),
    "run/generation": (
        *("engine/test_backend_runs.py", "engine/test_library_runs.py", "engine/test_shared_work.py"),
        *("engine/test_stats.py", "cli/test_generate.py"),
    ),
    "run/incremental_generation": (
        *("cli/test_drop_in_state.py", "engine/test_edits.py", "engine/test_library_runs.py"),
        "engine/test_manifests.py",
    ),
    "tools/files/layout": ("tools/check/test_layout.py",),
    "run/loading": ("engine", "cli", "lazy/test_loading.py", "plugins/test_extra_keys.py", "release/test_trees.py"),
    "run/output_writer": ("engine/test_cut_short.py", "engine/test_shared_work.py", "incremental/test_engine.py"),
    "workspace/provenance": ("cli/test_where.py", "engine/test_line_origins.py", "engine/test_provenance_files.py"),
    "mobile/selective/selecting": ("selective", _page("the_page_on_selective_builds_can_be_followed")),
    "schema": ("schema", "dialects/test_cases.py", "dialects/test_refusals.py", "dialects/test_type_rules.py"),
    "schema/base_types": (
        *("schema", "convention", "executorch", "static_runtime", "stubs", "torch_stubs", "lazy/test_lazy_cases.py"),
        *("engine/test_new_type.py", *_CORE, *_PYTHON),
    ),
    "schema/signature": ("schema", "dialects/test_cases.py", "dialects/test_reference.py"),
    "mobile/selective": ("selective", _page("the_page_on_selective_builds_can_be_followed")),
    "source": ("source",),
    "plugins/built_nodes": ("plugins/test_extra_keys.py",),
    "workspace/edits": ("workspace/test_edits.py", "tools/check/test_cases.py", "tools/check/test_layout.py"),
    "workspace/project_files": ("workspace", "tools/check/test_command.py", "plugins/test_strangers.py"),
    "tools/files/yaml_layout": ("source", "tools/check/test_layout.py"),
    "syntax": ("syntax",),
    "syntax/cpp_source": ("syntax", "libraries/importing/test_import.py", "tools/coverage/test_hand_registrations.py"),
    "syntax/cpp_tokens": ("syntax", "libraries/importing/test_import.py", "tools/coverage/test_hand_registrations.py"),
    "torchgen": ("torchgen_interface",),
    "torchgen/executorch": ("executorch", "selective", "torchgen_interface/test_executorch.py"),
    "torchgen/forwarding": ("torchgen_interface/test_forwarding.py",),
    "torchgen/gen": (
        *("cli/test_generate.py", "cli/test_drop_in_state.py", "cli/test_reference_flags.py", "cli/test_usage.py"),
    ),
    "torchgen/gen_annotated_fn_args": ("cli/test_autograd_programs.py",),
    "torchgen/gen_autograd": ("cli/test_autograd_programs.py",),
    "torchgen/gen_autograd_python": ("cli/test_autograd_programs.py",),
    "torchgen/gen_backend_stubs": (
        "cli/test_reference_flags.py",
        "backend/test_stub_cases.py",
        "engine/test_partial_runs.py",
    ),
    "torchgen/gen_lazy_tensor": ("cli/test_reference_flags.py", "lazy"),
    "torchgen/gen_mobile_upgraders": ("upgraders",),
    "torchgen/gen_op_registration_allowlist": ("selective",),
    "torchgen/gen_operators_yaml": ("selective",),
    "torchgen/gen_oplist": ("selective",),
    "torchgen/gen_pyi": ("torch_stubs",),
    "torchgen/gen_selected_mobile_ops_header": ("selective",),
    "torchgen/gen_static_runtime_ops": ("static_runtime",),
    "torchgen/gen_unboxing": ("cli/test_gen_unboxing.py",),
    "torchgen/generate_code": ("cli/test_autograd_programs.py", "lazy/test_runs.py"),
    "torchgen/install": ("torchgen_interface/test_forwarding.py",),
    "torchgen/programs": (
        "cli/test_autograd_programs.py",
        "cli/test_reference_flags.py",
        "backend/test_stub_cases.py",
        "lazy",
        "engine/test_partial_runs.py",
    ),
    "torchgen/selective_program": ("selective",),
    "torchgen/run": ("torchgen_interface/test_forwarding.py",),
    "torchgen/selective_build": ("selective", "torchgen_interface"),
}


def room_of(module: str) -> str | None:
    """The row of a module by its path below the root; None for the few modules outside rooms, and for plain data."""
    place = Path(module).relative_to(PACKAGE).with_suffix("").as_posix()
    names = [name for name in ROOMS if place == name or place.startswith(name + "/")]
    return max(names, key=len, default=None)


def room_modules() -> dict[str, list[str]]:
    """The modules of each row, as paths below the root, in order."""
    modules: dict[str, list[str]] = {name: [] for name in ROOMS}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        room = room_of(module)
        if room is not None:
            modules[room].append(module)
    return modules


def guards_of(module: str) -> list[str]:
    """The test modules, and the single tests, that guard a module, as pytest names them."""
    guards: dict[str, None] = {}
    for name in ROOMS.get(room_of(module) or "", ()):
        path = ROOT / "tests" / name
        paths = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        guards.update(dict.fromkeys(path.relative_to(ROOT).as_posix() for path in paths))
    return list(guards)
