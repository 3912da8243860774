"""What PyTorch's stub files have from hand instead of from its generator, name by name.

The text comes from three places of PyTorch's sources: the tables of `tools/pyi/gen_pyi.py`, and the templates
`torch/_C/__init__.pyi.in` and `torch/_C/_nn.pyi.in`.
"""

from __future__ import annotations

_FACTORY = (
    "dtype: _dtype | None=None, device: DeviceLikeType | None=None, requires_grad: _bool=False, pin_memory: _bool=False"
)
_OUT = "out: Tensor | None=None"
_NUMBER = "Tensor | Number | _complex"
_SYMBOLIC = "torch.SymInt | torch.SymFloat"
_NO_OUT = ("-*", "-out")

#: Declarations of functions that stand beside the generated ones, first: convenient forms with fewer arguments.
FUNCTIONS_BESIDE: dict[str, tuple[str, ...]] = {
    "arange": (
        f"def arange(start: Number, end: Number, step: Number, *, {_OUT}, {_FACTORY}) -> Tensor",
        f"def arange(start: Number, end: Number, *, {_OUT}, {_FACTORY}) -> Tensor",
        f"def arange(end: Number, *, {_OUT}, {_FACTORY}) -> Tensor",
    ),
    "full": (
        f"def full(size: _size, fill_value: Number | _complex, *, {_OUT}, layout: _layout=strided, "
        f"{_FACTORY}) -> Tensor",
        "def full(size: _size, fill_value: Number | _complex, *, names: list[str | None], layout: _layout=strided, "
        f"{_FACTORY}) -> Tensor",
    ),
    "linspace": (
        f"def linspace(start: Number, end: Number, steps: _int | None=None, *, {_OUT}, {_FACTORY}) -> Tensor",
    ),
    "logspace": (
        "def logspace(start: Number, end: Number, steps: _int | None=None, base: _float=10.0, *, "
        f"{_OUT}, {_FACTORY}) -> Tensor",
    ),
    "randint": (
        f"def randint(low: _int, high: _int, size: _size, *, generator: Generator | None=None, {_FACTORY}) -> Tensor",
        f"def randint(high: _int, size: _size, *, generator: Generator | None=None, {_FACTORY}) -> Tensor",
    ),
}

#: Declarations of functions that stand in place of the generated ones, since the parser takes numbers for tensors.
FUNCTIONS_INSTEAD: dict[str, tuple[str, ...]] = {
    "add": (f"def add(input: {_NUMBER}, other: {_NUMBER}, *, alpha: Number | _complex | None=1, {_OUT}) -> Tensor",),
    "sub": (f"def sub(input: {_NUMBER}, other: {_NUMBER}, *, alpha: Number | _complex | None=1, {_OUT}) -> Tensor",),
    "mul": (f"def mul(input: {_NUMBER}, other: {_NUMBER}, *, {_OUT}) -> Tensor",),
    "div": (
        f"def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None=None, {_OUT}) -> Tensor",
    ),
    "floor_divide": (f"def floor_divide(input: Tensor | Number, other: Tensor | Number, *, {_OUT}) -> Tensor",),
    "true_divide": (f"def true_divide(input: Tensor | Number, other: Tensor | Number, *, {_OUT}) -> Tensor",),
}

#: Generated functions without a declaration: users call the ones of `torch/functional.py`, which are typed there.
FUNCTIONS_LEFT_OUT = frozenset(
    (
        "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist",
        "chain_matmul", "einsum", "meshgrid", "norm", "split", "stft", "tensordot", "unique_consecutive",
    )
)  # fmt: skip

#: Declared functions that the generator does not bind: `torch/csrc/autograd/python_torch_functions_manual.cpp` does.
FUNCTIONS_BY_HAND = frozenset(
    (
        "_disable_functionalization", "_enable_functionalization", "_from_functional_tensor", "_functionalize_sync",
        "_functionalize_apply_view_metas", "_functionalize_are_all_mutations_hidden_from_autograd",
        "_functionalize_are_all_mutations_under_no_grad_or_inference_mode", "_functionalize_commit_update",
        "_functionalize_has_metadata_mutation", "_functionalize_inductor_storage_resized_counter",
        "_functionalize_is_symbolic", "_functionalize_mark_mutation_hidden_from_autograd",
        "_functionalize_mark_storage_changed", "_functionalize_mutation_counter", "_functionalize_replace",
        "_functionalize_storage_changed_counter", "_functionalize_unsafe_set",
        "_functionalize_was_inductor_storage_resized", "_functionalize_was_storage_changed", "_is_functional_tensor",
        "_is_functional_tensor_base", "_sync", "_to_functional_tensor", "as_tensor", "asarray", "dsmm", "from_numpy",
        "frombuffer", "get_default_dtype", "get_num_interop_threads", "get_num_threads", "hsmm", "init_num_threads",
        "is_grad_enabled", "is_inference_mode_enabled", "nonzero", "numel", "range", "saddmm", "set_flush_denormal",
        "set_num_interop_threads", "set_num_threads", "sparse_bsc_tensor", "sparse_bsr_tensor",
        "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "spmm", "tensor",
    )
)  # fmt: skip

#: Declarations of methods that stand beside the generated ones: signs of operators, and a form with fewer arguments.
METHODS_BESIDE: dict[str, tuple[str, ...]] = {
    **{
        f"__{name}__": (f"def __{name}__(self, other: Tensor | _int) -> Tensor",)
        for name in ("and", "iand", "ilshift", "ior", "irshift", "ixor", "lshift", "or", "rshift", "xor")
    },
    "new_ones": (
        "def new_ones(self, size: _size, dtype: _dtype | None=None, device: DeviceLikeType | None=None, "
        "requires_grad: _bool=False, pin_memory: _bool=False) -> Tensor",
    ),
}

#: Declarations of methods that stand in place of the generated ones.
METHODS_INSTEAD: dict[str, tuple[str, ...]] = {
    "add": (f"def add(self, other: {_NUMBER} | {_SYMBOLIC}, *, alpha: Number | _complex | None=1, {_OUT}) -> Tensor",),
    "add_": (f"def add_(self, other: {_NUMBER} | {_SYMBOLIC}, *, alpha: Number | _complex | None=1) -> Tensor",),
    "sub": (f"def sub(self, other: {_NUMBER} | {_SYMBOLIC}, *, alpha: Number | _complex | None=1, {_OUT}) -> Tensor",),
    "sub_": (f"def sub_(self, other: {_NUMBER} | {_SYMBOLIC}, *, alpha: Number | _complex | None=1) -> Tensor",),
    "mul": (f"def mul(self, other: {_NUMBER} | {_SYMBOLIC}, *, {_OUT}) -> Tensor",),
    "mul_": (f"def mul_(self, other: {_NUMBER} | {_SYMBOLIC}) -> Tensor",),
    "div": ("def div(self, other: Tensor | Number, *, rounding_mode: str | None=None) -> Tensor",),
    "div_": ("def div_(self, other: Tensor | Number, *, rounding_mode: str | None=None) -> Tensor",),
    "floor_divide": (f"def floor_divide(self, other: Tensor | Number | {_SYMBOLIC}, *, {_OUT}) -> Tensor",),
    "floor_divide_": (f"def floor_divide_(self, other: Tensor | Number | {_SYMBOLIC}) -> Tensor",),
    "true_divide": (f"def true_divide(self, other: Tensor | Number | {_SYMBOLIC}, *, {_OUT}) -> Tensor",),
    "true_divide_": (f"def true_divide_(self, other: Tensor | Number | {_SYMBOLIC}) -> Tensor",),
    # The declared results are what `torch/_tensor.py`, which has the method for users, gives.
    "split": (
        "def split(self, split_size: _int, dim: _int=0) -> Sequence[Tensor]",
        "def split(self, split_size: tuple[_int, ...], dim: _int=0) -> Sequence[Tensor]",
    ),
}

#: Generated methods without a declaration: `torch/_tensor.py` has them for users.
METHODS_LEFT_OUT = frozenset(("norm", "stft"))

#: Parts of declarations of `torch._C._nn` that are written by hand otherwise than the operators have them. All of
#: `torch/_C/_nn.pyi.in` is, and it leaves out most `out` arguments. A part is a parameter with its type and default or
#: the result; `-NAME` is a parameter that the declaration lacks, `~A, B` says that these stand in another order.
NN_OTHERWISE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("adaptive_avg_pool2d", "adaptive_avg_pool3d"), ("output_size: int | _size", *_NO_OUT)),
    **dict.fromkeys(
        (
            "adaptive_max_pool2d",
            "adaptive_max_pool3d",
            "glu",
            "hardswish",
            "im2col",
            "linear",
            "log_sigmoid",
            "mish",
            "silu",
        ),
        _NO_OUT,
    ),
    **dict.fromkeys(
        ("avg_pool2d", "avg_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices"),
        ("stride: int | _size | None=None", *_NO_OUT),
    ),
    **dict.fromkeys(
        (
            "binary_cross_entropy",
            "huber_loss",
            "mse_loss",
            "multilabel_margin_loss",
            "smooth_l1_loss",
            "soft_margin_loss",
        ),
        ("reduction: str=...", *_NO_OUT),
    ),
    "col2im": (
        "output_size: int | _size",
        "stride: int | _size | None=None",
        "padding: int | _size=0",
        "-*",
        "-out",
        "~stride, padding",
    ),
    **dict.fromkeys(("cross_entropy_loss", "nll_loss_nd"), ("reduction: str=...", "ignore_index: int=-100")),
    "elu": ("alpha: float=1.0", "scale: float=1.0", "input_scale: float=1.0", *_NO_OUT),
    "elu_": ("alpha: float=...", "-scale", "-input_scale"),
    **dict.fromkeys(
        ("fractional_max_pool2d", "fractional_max_pool3d"), ("_random_samples: Tensor", "-random_samples", *_NO_OUT)
    ),
    "gelu": ("approximate: str=...", *_NO_OUT),
    **dict.fromkeys(("hardtanh", "hardtanh_"), ("min_val: float=...", "max_val: float=...")),
    "l1_loss": ("reduction: str=...",),
    **dict.fromkeys(("leaky_relu", "leaky_relu_"), ("negative_slope: float=...",)),
    **dict.fromkeys(("max_unpool2d", "max_unpool3d"), ("output_size: Sequence[int] | None", *_NO_OUT)),
    "multi_margin_loss": ("p: float=1.0", "margin: float=1.0", "reduction: str=...", *_NO_OUT),
    "one_hot": ("tensor: Tensor", "num_classes: int=...", "-input"),
    "pad": ("pad: Sequence[int]", "mode: str=..."),
    "scaled_dot_product_attention": ("-*",),
    "softplus": ("beta: float=...", "threshold: float=...", *_NO_OUT),
    "softshrink": ("lambd: float=...", *_NO_OUT),
    "mkldnn_linear": ("bias: Tensor | None",),
    **dict.fromkeys(
        ("mkldnn_reorder_conv2d_weight", "mkldnn_reorder_conv3d_weight"),
        (
            "self: Tensor",
            "padding: list",
            "stride: list",
            "dilatation: list",
            "groups: int",
            "-input",
            "-dilation",
            "-input_size",
        ),
    ),
    "pad_sequence": ("sequences: list[Tensor] | tuple[Tensor, ...]", "padding_side: Literal['left', 'right']='right'"),
    **dict.fromkeys(
        (
            "upsample_nearest1d",
            "upsample_nearest2d",
            "upsample_nearest3d",
            "_upsample_nearest_exact1d",
            "_upsample_nearest_exact2d",
            "_upsample_nearest_exact3d",
            "upsample_linear1d",
            "_upsample_bilinear2d_aa",
            "upsample_bilinear2d",
            "upsample_trilinear3d",
            "_upsample_bicubic2d_aa",
            "_upsample_lanczos2d_aa",
            "upsample_bicubic2d",
        ),
        ("output_size: Sequence[int] | None",),
    ),
    "flatten_dense_tensors": ("tensors: list[Tensor]",),
    "unflatten_dense_tensors": ("tensors: list[Tensor]", "-> list[Tensor]"),
}

#: Declared functions of `torch._C._nn` that are no operators: the one is bound by hand, the other is there no more.
NN_BY_HAND = frozenset(("_parse_to", "mkldnn_prelu"))
