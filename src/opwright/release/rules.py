"""The behaviours that differ between releases: one table, each row with its versions and its reason.

An emitter asks for a behaviour by its name and never looks at a version:

>>> from opwright.release.version import parse_version
>>> rules = Rules(parse_version("2.12.1"))
>>> rules.native_aot_stubs, rules.variable_type_shards
(False, 5)

The rows are the attributes of `Rules`. Asked of the class, a name gives its row:

>>> [(change.since, change.value) for change in Rules.variable_type_shards.changes]
[('2.4', 5), ('2.13', 10)]
"""

from __future__ import annotations

from opwright.release.behaviour import BehaviourTable, Change, from_release, shards, until_release
from opwright.release.version import Mark


class Rules(BehaviourTable):
    """The rules of one release: the value of each row of the table in this release."""

    # Which files Opwright writes, and what it accepts.

    pytorch_files = from_release(
        "2.8",
        "Opwright writes the files of PyTorch's build, and those of lazy tensors, static runtime and ExecuTorch.",
        "For older releases it writes those of backends and of libraries, which are built against several at a time.",
        Mark("torchgen/code_template.py", "str.rstrip"),
    )
    torch_stub_files = from_release(
        "2.9",
        "Opwright writes the stub files of torch.",
        "In older releases their hints have another form, and most of them are written by hand.",
    )
    templates_strip_lines = from_release(
        "2.8",
        "Lines that are put into a template lose trailing whitespace, and blank ones get no indentation.",
        "Tools that check whitespace pass over the files.",
        Mark("torchgen/code_template.py", "str.rstrip"),
    )
    const_ref_excludes_out = from_release(
        "2.7",
        "Entries with out arguments cannot have `use_const_ref_for_mutable_tensors`.",
        "The kernel writes to these arguments, so callers must not take them for constants.",
        Mark("torchgen/model.py", "issues/145522"),
    )

    # ATen: registration and functionalization.

    view_meta_classes = from_release(
        "2.9",
        "A view is recorded for functionalization by an object of a class of its own, not by two lambdas.",
        "Objects of classes can be saved, compared and given to Python; a lambda only runs.",
        Mark("torchgen/gen_functionalization_type.py", "gen_functionalization_view_meta_classes"),
    )
    composite_views_registered_to_functionalize = from_release(
        "2.10",
        "Views with a composite kernel are registered to Functionalize with that kernel.",
        "So functionalization decomposes them, also where another key has a kernel instead of the composite one.",
        Mark("torchgen/gen_functionalization_type.py", "static_cast"),
    )
    cumulative_out_keeps_out_dtype = from_release(
        "2.12",
        "Functionalized `cumsum` and `cumprod` into `out` use the dtype of `out` when none is given.",
        "The functional overload would pick another dtype than the `out` that the caller asked for.",
        Mark("torchgen/gen_functionalization_type.py", "CUMULATIVE_OUT_OPS"),
    )
    view_meta_owns_tensors = from_release(
        "2.14",
        "The fields of ViewMeta classes hold tensors by value instead of by reference.",
        "A view is replayed after the call that made it, when the referenced tensor may be gone.",
        Mark("torchgen/api/cpp.py", "elif remove_non_owning_ref_types"),
    )
    single_output_view_replay = from_release(
        "2.15",
        "`forward` of the ViewMeta of `split`, `unbind` and their kind makes one output, by `slice` or `select`.",
        "Replaying all outputs to take one costs time in proportion to their number.",
        Mark("torchgen/gen_functionalization_type.py", "SINGLE_OUTPUT_VIEW_REPLAY"),
    )
    set_output_takes_names = until_release(
        "2.13",
        "`set_output_*` of structured kernels takes dimension names and propagates them.",
        "Named tensors were removed in 2.13.",
        Mark("torchgen/dest/register_dispatch_key.py", "DimnameList", gone=True),
    )
    dispatcher_takes_dimnames = until_release(
        "2.13",
        "Schemas may have the type `Dimname`.",
        "Named tensors were removed in 2.13.",
        Mark("torchgen/model.py", "Dimname", gone=True),
    )
    generated_operators_tagged_by_kind = from_release(
        "2.13",
        "Synthesized overloads carry the tag `out` or `inplace` in their schema registration.",
        "`tags.yaml` has these tags from then on, and tools ask for them.",
        Mark("torchgen/native_function_generation.py", 'inplace"'),
    )
    enum_tag_is_header_only = from_release(
        "2.12",
        "`enum_tag.h` goes to the header-only folder instead of ATen's core.",
        "The tags moved to `torch::headeronly`, for code that does not link to torch.",
        Mark("torchgen/gen.py", "headeronly"),
    )
    native_aot_stubs = from_release(
        "2.15",
        "`NativeAotStubs.h` and `NativeAotStubs.cpp` are written.",
        "Kernels compiled ahead of time are reached through these stubs, between `meta` and `impl`.",
        Mark("torchgen/gen.py", "NativeAotStubs.h"),
    )
    shims_through_dispatcher = from_release(
        "2.9",
        "Some operators have a C shim `aten` that calls the dispatcher, whatever the device.",
        "The stable interface calls operators of PyTorch through these shims.",
        Mark("torchgen/gen_aoti_c_shim.py", "aten_shimified_ops"),
    )
    shims_resolve_dispatch_flags = from_release(
        "2.7",
        "C shims pass tensors that they read through `resolve_tensor_dispatch_flags`.",
        "The kernels behind them know nothing of tensors that are conjugated or negated lazily.",
        Mark("torchgen/gen_aoti_c_shim.py", "resolve_tensor_dispatch_flags"),
    )
    shims_are_guarded = from_release(
        "2.13",
        "Declarations of C shims are guarded by the release that added them.",
        "A library that is built for an older release must not see shims that this release lacks.",
        Mark("torchgen/gen_aoti_c_shim.py", "TORCH_FEATURE_VERSION"),
    )
    comments_name_program = from_release(
        "2.5",
        "The comment that says how a file was made names the program that was started.",
        "Builds and vendors start several programs.",
        Mark("torchgen/utils.py", "generator_default"),
    )
    unused_helpers_ignored = from_release(
        "2.5",
        "Compilers do not warn of helpers in `Register{Key}.cpp` that no kernel uses.",
        "Many files use only some of them.",
        Mark("torchgen/dest/register_dispatch_key.py", "-Wunused-function"),
    )
    registrations_end_without_semicolon = from_release(
        "2.6",
        "No semicolon follows a block of registrations.",
        "Compilers warn of the extra one.",
    )
    helpers_keep_blank_lines = from_release(
        "2.7",
        "The helpers in `Register{Key}.cpp` keep the blank lines between them.",
        "They stand before the namespaces of the kernels, in a slot of the file.",
    )
    core_composites_have_out_forms = from_release(
        "2.6",
        "A composite with the tag `core` gets the out form that its `autogen` asks for.",
        "Exported programs keep calls of such operators, and memory planning replaces them with their out forms.",
        Mark("torchgen/native_function_generation.py", "non-core"),
    )
    devices_initialized_by_type = from_release(
        "2.6",
        "Factories initialize their device by `lazyInitDevice` with its type, not by a function of the device.",
        "One function serves all devices, also those outside PyTorch.",
        Mark("torchgen/dest/register_dispatch_key.py", "lazyInitDevice"),
    )

    # ATen: device families.

    plain_hip_guards = from_release(
        "2.11",
        "ROCm builds name the guard and its header plainly, not as masquerading as CUDA.",
        "The masquerading classes became the plain ones.",
        Mark("torchgen/gen.py", "Masquerading", gone=True),
    )
    mps_has_sparse_keys = from_release(
        "2.9",
        "Builds for MPS have the keys SparseMPS and SparseCsrMPS.",
        "MPS got kernels for sparse tensors.",
        Mark("torchgen/model.py", "DispatchKey.SparseMPS,"),
    )
    hpu_has_nested_key = from_release(
        "2.8",
        "Entries may name the key NestedTensorHPU.",
        "HPU got kernels for nested tensors.",
        Mark("torchgen/model.py", "DispatchKey.NestedTensorHPU,"),
    )
    xpu_has_kernels = from_release(
        "2.5",
        "Entries may name the key XPU.",
        "PyTorch took over kernels of Intel's extension.",
        Mark("torchgen/model.py", "DispatchKey.XPU,"),
    )
    xpu_has_sparse_and_nested_keys = from_release(
        "2.6",
        "Entries may name the keys SparseXPU and NestedTensorXPU.",
        "XPU got kernels for sparse and nested tensors.",
        Mark("torchgen/model.py", "DispatchKey.XPU,\n    DispatchKey.SparseXPU,"),
    )
    xpu_has_csr_key = from_release(
        "2.7",
        "Entries may name the key SparseCsrXPU.",
        "XPU got kernels for compressed sparse tensors.",
        Mark("torchgen/model.py", "DispatchKey.SparseXPU,\n    DispatchKey.SparseCsrXPU,"),
    )
    xpu_subkeys_need_xpu = from_release(
        "2.14",
        "Keys that combine XPU with a functionality get files and declarations only in XPU builds.",
        "The YAML names kernels for these keys from then on, and other builds do not have them.",
        Mark("torchgen/gen.py", "XPU_KEYS"),
    )
    structured_classes_exported_for_xpu = until_release(
        "2.14",
        "XPU builds put TORCH_XPU_API on the classes of structured kernels.",
        "XPU kernels are compiled in a library of their own; it no longer needs the classes from outside.",
        Mark("torchgen/dest/native_functions.py", "device_torch_api_key_word_mapping", gone=True),
    )
    device_export_macros = from_release(
        "2.15",
        "Declarations of CUDA and XPU kernels carry TORCH_CUDA_CPP_API or TORCH_XPU_API, not TORCH_API.",
        "Each macro says from which library the symbol is exported; on Windows the wrong one does not link.",
        Mark("torchgen/dest/native_functions.py", "TORCH_CUDA_CPP_API"),
    )

    # Lazy tensors.

    lazy_texts_are_moved = from_release(
        "2.13",
        "`ToString` of a node returns the text of `std::move(ss)`.",
        "The stream gives its text away instead of copying it.",
        Mark("torchgen/dest/lazy_ir.py", "std::move(ss)"),
    )

    # Autograd.

    tensor_use_count_asked_of_tensor = from_release(
        "2.10",
        "The debug check of a fresh tensor compares its use count with `expected_fresh_use_count()`, not with 1.",
        "A tensor that has a Python object counts one use more.",
        Mark("autograd/gen_variable_type.py", "expected_fresh_use_count"),
    )
    wrapped_numbers_marked_in_forward_mode = from_release(
        "2.10",
        "Forward derivatives mark the zero tangent of a wrapped number as a wrapped number too.",
        "Otherwise the tangent takes part in type promotion where its number does not.",
        Mark("autograd/gen_variable_type.py", "update_wrapped_number"),
    )
    nodes_are_intrusive = from_release(
        "2.13",
        "Autograd nodes are held by `c10::intrusive_ptr` instead of `std::shared_ptr`.",
        "The count lives in the node, as it does in a tensor.",
        Mark("autograd/gen_variable_type.py", "c10::make_intrusive"),
    )
    compiled_nodes_know_outputs = from_release(
        "2.5",
        "Nodes tell compiled autograd whether a saved variable is an output of theirs.",
        "An output is unpacked for the node that made it.",
    )
    compiled_nodes_pack_values = from_release(
        "2.7",
        "Nodes give compiled autograd a function of packed values, and do not run on values swapped for their own.",
        "The graph of the backward pass is traced without running the nodes.",
    )
    node_creation_hooks = from_release(
        "2.14",
        "Kernels that make a node fire its creation hooks, last of all.",
        "A hook sees the node whole, with its saved variables and outputs.",
        Mark("autograd/gen_variable_type.py", "fire_node_creation_hooks"),
    )
    storage_saved_flags_reserved = from_release(
        "2.15",
        "The debug vector of saved storages is reserved first and filled by `emplace_back`.",
        "Elements are built once, in place.",
        Mark("autograd/gen_variable_type.py", "_storage_saved.reserve("),
    )
    foreach_nodes_looped_by_reference = from_release(
        "2.15",
        "Loops over the nodes of a foreach operator bind `const auto&` instead of `auto`.",
        "A copy would count a use of each node up and down.",
        Mark("autograd/gen_variable_type.py", "const auto& grad_fn = "),
    )

    # Python bindings.

    devices_initialized_only_for_dispatched_calls = from_release(
        "2.13",
        "Python methods initialize a device only for a tensor without a Python dispatch of its own.",
        "A subclass that handles the call itself may never touch the device.",
        Mark("torchgen/api/python.py", "tensor_has_dispatch(self)"),
    )
    argumentless_methods_ask_has_torch_function = from_release(
        "2.13",
        "Python methods without arguments ask `has_torch_function` instead of `check_has_torch_function`.",
        "The cheaper of the two suffices when `self` is the only argument.",
        Mark("autograd/gen_python_functions.py", "if (has_torch_function(self_))"),
    )

    # Stub files of torch.

    stub_lists_accept_none = until_release(
        "2.12",
        "The hint of every parameter with a list of tensors ends in `| None` in the stub files of torch.",
        "The hint was the one for lists with missing tensors; most lists cannot be None.",
        Mark("torchgen/api/python.py", "elem_str"),
    )
    stub_numbers_are_symbolic = from_release(
        "2.14",
        "The hint of a parameter of type `Scalar` ends in `| PySymType` in the stub files of torch.",
        "Such parameters take symbolic numbers too.",
        Mark("torchgen/api/python.py", "| PySymType"),
    )
    stub_foreach_returns_lists = from_release(
        "2.15",
        "In the stub files of torch, `_foreach_` functions without results return the list that they write to.",
        "Python gives back `self`, as the public functions of `torch.foreach` do.",
    )

    # Sizes of sharded families.

    operators_shards = shards(5, "Shards of `Operators_N.cpp`.")
    functionalization_shards = shards(4, "Shards of `RegisterFunctionalization_N.cpp`.")
    register_cpu_shards = shards(4, "Shards of `RegisterCPU_N.cpp`.")
    register_shards = shards(1, "Shards of `Register{Key}_N.cpp` for keys other than CPU.")
    unboxing_shards = shards(5, "Shards of `UnboxingFunctions_N.cpp`.")
    unboxed_kernels_shards = shards(10, "Shards of `RegisterCodegenUnboxedKernels_N.cpp`.")
    variable_type_shards = shards(
        5,
        "Shards of `VariableType_N.cpp`.",
        Change(
            "2.13",
            10,
            "Twice the shards halve the longest compilation.",
            Mark("autograd/gen_variable_type.py", "num_shards=10"),
        ),
    )
    trace_type_shards = shards(
        5,
        "Shards of `TraceType_N.cpp`.",
        Change(
            "2.13",
            10,
            "Twice the shards halve the longest compilation.",
            Mark("autograd/gen_trace_type.py", "num_shards=10"),
        ),
    )
    inplace_or_view_shards = shards(2, "Shards of `ADInplaceOrViewType_N.cpp`.")
    autograd_functions_shards = shards(5, "Shards of `python_functions_N.cpp`.")
    torch_functions_shards = shards(3, "Shards of `python_torch_functions_N.cpp`.")
