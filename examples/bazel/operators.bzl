# Made by `opwright generate --library operators.yaml --out gen --actions 2 --describe bazel --describe-to operators.bzl`.

ACTIONS = [
    struct(
        name = "0",
        arguments = [
            "--library",
            "$(location operators.yaml)",
            "--source-path",
            "{torch}/torchgen/packaged/ATen",
            "--release",
            "2.13.0",
            "--hermetic",
            "--shard",
            "0/2",
            "--declared",
            "b94a1e901cb000fc",
        ],
        srcs = [
            "operators.yaml",
        ],
        torch_srcs = [
            "torchgen/packaged/ATen/native/native_functions.yaml",
            "torchgen/packaged/ATen/native/tags.yaml",
            "torchgen/packaged/autograd/derivatives.yaml",
        ],
        outs = [
            "include/acme_ops/kernels.h",
            "include/acme_ops/ops.h",
            "python/acme_ops/py.typed",
            "src/acme_ops/register_0.cpp",
        ],
    ),
    struct(
        name = "1",
        arguments = [
            "--library",
            "$(location operators.yaml)",
            "--source-path",
            "{torch}/torchgen/packaged/ATen",
            "--release",
            "2.13.0",
            "--hermetic",
            "--shard",
            "1/2",
            "--declared",
            "b72932753b6a8f41",
        ],
        srcs = [
            "operators.yaml",
        ],
        torch_srcs = [
            "torchgen/packaged/ATen/native/native_functions.yaml",
            "torchgen/packaged/ATen/native/tags.yaml",
            "torchgen/packaged/autograd/derivatives.yaml",
        ],
        outs = [
            "python/acme_ops/_cache_keys.py",
            "python/acme_ops/_load.py",
            "python/acme_ops/_ops.py",
        ],
    ),
]
