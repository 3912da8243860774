"""Operators that static runtime treats specially, by the names that their overloads share, and those of upgraders."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

HAND_WRITTEN: Final = NameTable(
    "Operators whose code in static runtime is written by hand.",
    Names(
        """abs add addmm all any argmin bmm clamp clamp_min cumsum detach div expand_as flatten fmod index_select
        leaky_relu linear log matmul mul narrow narrow_copy nonzero pow remainder reshape_as select sigmoid sign
        slice softmax split squeeze sub tanh transpose view where""",
        "Static runtime's sources register code for them.",
    ),
    form="root",
)

LEFT_OUT: Final = NameTable(
    "Operators that get no code in static runtime although their schemas allow it.",
    Names(
        """sparse_sampled_addmm hspmm linalg_svdvals cudnn_affine_grid_generator cudnn_affine_grid_generator_backward
        cudnn_grid_sampler batch_norm_backward_elemt _triton_multi_head_attention""",
        "They have no kernel for dense tensors on the CPU.",
    ),
    Names(
        """sspaddmm coalesce _coalesce _coalesced _indices indices _indices_copy indices_copy _values values
        _values_copy values_copy crow_indices crow_indices_copy col_indices col_indices_copy ccol_indices
        ccol_indices_copy row_indices row_indices_copy _sparse_sparse_matmul _sparse_softmax
        _sparse_softmax_backward_data _sparse_log_softmax _sparse_log_softmax_backward_data _sparse_addmm
        sparse_mask _sparse_mask_projection _to_dense copy_sparse_to_sparse to_sparse to_sparse_csr to_sparse_csc
        _to_sparse_csr _to_sparse_csc""",
        "They read or make sparse tensors.",
    ),
    Names(
        """to_mkldnn mkldnn_linear _mkldnn_transpose mkldnn_adaptive_avg_pool2d_backward quantize_per_tensor_dynamic
        quantize_per_channel q_per_channel_scales q_per_channel_zero_points int_repr
        _make_per_channel_quantized_tensor""",
        "They read or make quantized tensors, or tensors in the layout of MKL-DNN.",
    ),
    Names(
        """_nested_tensor_from_mask _nested_from_padded _nested_tensor_size _nested_from_padded_and_nested_example
        _nested_tensor_strides _nested_tensor_storage_offsets _nested_get_values _nested_get_values_copy
        _nested_view_from_jagged _nested_view_from_jagged_copy _nested_view_from_buffer
        _nested_view_from_buffer_copy""",
        "They read or make nested tensors.",
    ),
    Names("floor_divide ger", "They are deprecated."),
    Names("cholesky", "It is deprecated; 2.14 removed it.", until="2.14"),
    Names("conj_physical _conj_physical binary_cross_entropy arccosh", "Their generated tests failed."),
    Names(
        """lu_solve linalg_cholesky linalg_householder_product linalg_ldl_solve _compute_linear_combination
        linalg_lu_solve linalg_vecdot linalg_matrix_exp linalg_eigvalsh _cholesky_solve_helper trace""",
        "Few models use these functions of linear algebra.",
    ),
    Names(
        """_make_dual _make_dual_copy _fw_primal _fw_primal_copy _standard_gamma_grad _dirichlet_grad glu_jvp
        glu_backward_jvp hardswish_backward rrelu_with_noise_backward _adaptive_avg_pool2d_backward
        _adaptive_avg_pool3d_backward _segment_reduce_backward embedding_dense_backward
        _embedding_bag_dense_backward _embedding_bag_per_sample_weights_backward _masked_softmax_backward""",
        "Only training uses them.",
    ),
    Names(
        """view_as_real_copy view_as_complex_copy _conj_copy _neg_view_copy diagonal_copy detach_copy squeeze_copy
        t_copy unsqueeze_copy unfold_copy alias_copy lift lift_fresh lift_fresh_copy""",
        "Functionalization makes them, and models do not call them.",
    ),
    Names(
        """special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
        special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
        special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
        special_laguerre_polynomial_l special_legendre_polynomial_p special_modified_bessel_i0
        special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
        special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
        special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
        special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0""",
        "Few models use these special functions.",
    ),
    Names(
        """_new_zeros_with_same_feature_meta _test_warn_in_autograd _test_autograd_multiple_dispatch_view
        _test_autograd_multiple_dispatch_view_copy _foobar""",
        "They exist for PyTorch's own tests and transforms.",
    ),
    Names(
        """binary_cross_entropy_with_logits bincount conv_tbc copy _copy_from _copy_from_and_resize count_nonzero
        diag_embed embedding grid_sampler_2d _grid_sampler_2d_cpu_fallback grid_sampler_3d isnan isinf median
        nanmedian _euclidean_dist pixel_shuffle pixel_unshuffle channel_shuffle relu prelu celu slice_scatter
        select_scatter diagonal_scatter sum native_norm zero set masked_scatter _masked_softmax put index_reduce
        dist max _int_mm segment_reduce""",
        "They got their out overloads later, and nobody has tried them in static runtime yet.",
    ),
    Names(
        "_index_reduce _reshape_nested_backward _segment_reduce _torch_cuda_cu_linker_symbol_op",
        "PyTorch lists them; no release known has such operators.",
        absent=True,
    ),
    form="root",
)

INTEGER_INPUTS: Final = NameTable(
    "Operators whose generated tests pass integers.",
    Names(
        """bitwise_not bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm""",
        "They are defined for integers only.",
    ),
    Names(
        "scatter gather _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo",
        "One of their tensors holds indices.",
    ),
    form="root",
)

COMPLEX_INPUTS: Final = NameTable(
    "Operators whose generated tests pass complex numbers.",
    Names("view_as_real imag _conj", "They read the parts of complex numbers."),
    form="root",
)

VECTOR_INPUTS: Final = NameTable(
    "Operators whose generated tests pass tensors of one dimension.",
    Names("addmv dot vdot outer ger", "They multiply vectors."),
    Names(
        "index_add _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo nll_loss_backward",
        "Their indices are vectors.",
    ),
    form="root",
)

MATRIX_INPUTS: Final = NameTable(
    "Operators whose generated tests pass tensors of two dimensions.",
    Names("addmm mm nuclear_norm diag _addmm_activation matrix_H t", "They take matrices."),
    form="root",
)

NOT_RESIZED: Final = NameTable(
    "Overloads whose generated tests do not check that a larger input makes the output larger.",
    Names(
        """dot vdot nuclear_norm prod l1_loss multi_margin_loss multilabel_margin_loss nll_loss nll_loss2d""",
        "Their output is one number.",
    ),
    Names("isin.Scalar_Tensor index_add histc", "The size of their output does not follow that of every input."),
    form="overload",
)

INPUT_SHAPES: Final = NameMap(
    "Operators whose generated tests pass tensors of a shape of their own.",
    Names("view_as_complex", "The last dimension holds both parts of a complex number.", value="{2, 2}"),
    form="root",
)

# A line is an argument and its value. Of `[6|22]`, the first call of a test gets 6 and the second one 22. A value after
# `?=` is used only if the operator has the argument; others are defined in any case, as PyTorch's own tests do.
INPUT_VALUES: Final = NameMap(
    "Values that generated tests pass for some arguments of operators.",
    Names(
        "addr",
        "It adds the outer product of two vectors to a matrix.",
        value="""\
self = at::rand({[6, 6|22, 22]})
vec1 = at::rand({[6|22]})
vec2 = at::rand({[6|22]})""",
    ),
    Names(
        "mv",
        "It multiplies a matrix by a vector.",
        value="self = at::rand({[6, 6|22, 22]})\nvec = at::rand({[6|22]})",
    ),
    Names("addbmm", "It adds products to a matrix.", value="self = at::rand({[6, 6|22, 22]})"),
    Names(
        "cross",
        "One dimension must have three elements.",
        value="self = at::rand({[3, 3, 3|22, 3, 22]})\nother = at::rand({[3, 3, 3|22, 3, 22]})",
    ),
    Names("take", "Indices must be in range.", value="index = at::randint(0, [216, {20}|1000, {100}], torch::kInt64)"),
    Names("take_along_dim", "Indices must be in range.", value="indices = at::argsort(self[0|1], 1, true)"),
    Names(
        "masked_select",
        "A mask has truth values.",
        value="mask = at::[randn({6, 6, 6})|rand({22, 22, 22})] > 0.5",
    ),
    Names("orgqr ormqr", "The second input is a matrix.", value="input2 = at::rand({[6, 6|22, 22]})"),
    Names(
        "quantile nanquantile",
        "Quantiles are between 0 and 1, and there are names of interpolations.",
        value='q = at::rand({[6|22]})\ninterpolation = "linear"',
    ),
    Names(
        "multi_margin_loss nll_loss",
        "Targets are numbers of classes.",
        value="""\
self = at::rand({[6, 6|22, 22]})
target = at::randint([6, {6}|22, {22}], torch::kInt64)
weight = at::rand({[6|22]})""",
    ),
    Names(
        "multilabel_margin_loss",
        "Targets are numbers of classes.",
        value="""\
self = at::rand({[6, 6|22, 22]})
target = at::randint([6, {6, 6}|22, {22, 22}], torch::kInt64)""",
    ),
    Names(
        "nll_loss2d",
        "Targets are numbers of classes.",
        value="""\
self = at::rand({[6, 6, 6, 6|22, 22, 22, 22]})
target = at::randint([6, {6, 6, 6}|22, {22, 22, 22}], torch::kInt64)
weight = at::rand({[6|22]})""",
    ),
    Names(
        "fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft",
        "Only three words name a norm.",
        value='norm = "forward"',
    ),
    Names(
        "linalg_tensorinv",
        "The input must be square.",
        value="self = at::rand({[6, 6, 6, 6|22, 22, 22, 22]})\nind = 2",
    ),
    Names(
        "addmv",
        "It multiplies a matrix by a vector.",
        value="""\
self = at::rand({[2|35]})
mat = at::rand({[2, 2|35, 35]})
vec = at::rand({[2|35]})""",
    ),
    Names(
        "acosh",
        "It is defined for numbers from 1 on.",
        value="self = at::rand({[2, 2, 2|5, 5, 5]}) + at::ones({[2, 2, 2|5, 5, 5]})",
    ),
    Names(
        "adaptive_max_pool2d_backward",
        "Indices must be in range.",
        value="""\
grad_output = at::rand({[2, 2, 2|3, 3, 3]}, at::kFloat)
self = at::rand({[2, 2, 2|3, 3, 3]}, at::kFloat)
indices = at::randint(0, 1, {[2, 2, 2|3, 3, 3]}, at::kLong)""",
    ),
    Names(
        "adaptive_max_pool3d_backward",
        "Indices must be in range.",
        value="""\
grad_output = at::rand({[2, 2, 2, 2|3, 3, 3, 3]}, at::kFloat)
self = at::rand({[2, 2, 2, 2|3, 3, 3, 3]}, at::kFloat)
indices = at::randint(0, 1, {[2, 2, 2, 2|3, 3, 3, 3]}, at::kLong)""",
    ),
    Names(
        "bitwise_left_shift",
        "Shifts must stay within 32 bits.",
        value="""\
self = at::randint(1, 1 << 4, {[6, 6, 6|22, 22, 22]}, at::kInt)
other = at::randint(1, 26, {[6, 6, 6|22, 22, 22]}, at::kInt)""",
    ),
    Names(
        "bitwise_right_shift",
        "Shifts must stay within 32 bits.",
        value="""\
self = at::randint(1 << 21, 1 << 30, {[6, 6, 6|22, 22, 22]}, at::kInt)
other = at::randint(1, 22, {[6, 6, 6|22, 22, 22]}, at::kInt)""",
    ),
    Names(
        "gather",
        "Indices must be in range.",
        value="""\
self = at::randint(1, 100, {[2,2,2|5,5,5]}, at::kInt)
dim = 1
index = at::randint(0, [1, {2,2,2}|4, {5,5,5}], torch::kInt64)
sparse_grad = false""",
    ),
    Names("gelu", "Only two words name a way.", value='self = at::rand({[6, 6, 6|22, 22, 22]})\napproximate = "tanh"'),
    Names(
        "gelu_backward",
        "Only two words name a way.",
        value="""\
grad_output = at::rand({[6, 6, 6|22, 22, 22]})
self = at::rand({[6, 6, 6|22, 22, 22]})
approximate = "tanh\"""",
    ),
    Names(
        "index_add",
        "Indices must be in range.",
        value="""\
self = at::rand({[2|16]})
dim = 0
index = at::randint(0, [1, {2}|10, {16}], at::kInt)
source = at::rand({[2|16]})
alpha = 2""",
    ),
    Names(
        "index_copy",
        "Indices must be in range.",
        value="""\
self = at::rand({[2|32]})
dim = 0
index = at::randint(0, [1, {2}|10, {32}], at::kLong)
source = at::rand({[2|32]})""",
    ),
    Names(
        "linalg_cross",
        "One dimension must have three elements.",
        value="""\
self = at::rand({[6, 3, 6|22, 3, 22]})
other = at::rand({[6, 3, 6|22, 3, 22]})
dim = 1""",
    ),
    Names(
        "nll_loss_backward",
        "Targets are numbers of classes.",
        value="""\
grad_output = at::rand({})
self = at::rand({[6|36]})
target = at::randint(0, [5, {6}|11, {36}], torch::kInt64)
weight = at::rand({[6|36]})
reduction = 1
ignore_index = 1
total_weight = at::rand({})""",
    ),
    Names(
        "scatter scatter_add",
        "Indices must be in range.",
        value="""\
self = at::randint(1, 100, {[2,2,2|5,5,5]}, torch::kInt64)
index = at::randint(0, 1, {[2,2,2|5,5,5]}, torch::kInt64)
src = at::randint(1, 100, {[2,2,2|5,5,5]}, torch::kInt64)
reduce ?= "add\"""",
    ),
    Names(
        "_scatter_reduce",
        "PyTorch has values for it; no release known has such an operator.",
        value="""\
self = at::randint(1, 100, {[2,2,2|5,5,5]}, torch::kInt64)
index = at::randint(0, 1, {[2,2,2|5,5,5]}, torch::kInt64)
src = at::randint(1, 100, {[2,2,2|5,5,5]}, torch::kInt64)
reduce ?= "sum\"""",
        absent=True,
    ),
    Names(
        "scatter_reduce",
        "Indices must be in range, and only some words name a reduction.",
        value='reduce = "mean"\nindex = at::randint([6, {6, 6, 6}|22, {22, 22, 22}], torch::kInt64)',
    ),
    Names(
        "special_zeta",
        "It is defined for numbers above 1.",
        value="""\
self = at::rand({[2,2,2|5,5,5]}, at::kDouble) + at::ones({[2,2,2|5,5,5]})
other = at::rand({[2,2,2|5,5,5]}, at::kDouble) + at::ones({[2,2,2|5,5,5]})""",
    ),
    Names(
        "_convert_indices_from_csr_to_coo",
        "The two tensors with indices must fit.",
        value="""\
crow_indices = torch::tensor({[1|0]}, torch::kInt32)
col_indices = torch::tensor({[0, 1, 0|0, 1, 0, 2, 1, 2, 0, 1, 0, 2, 1, 2]}, torch::kInt32)
out_int32 = false""",
    ),
    Names(
        "_convert_indices_from_coo_to_csr",
        "Indices must be in range.",
        value="""\
self = at::randint(0, 3, {[2|12]}, at::kInt)
size = [10|24]
out_int32 = false""",
    ),
    Names("diagonal linalg_diagonal", "The two dimensions must differ.", value="offset = 0\ndim1 = 2\ndim2 = 1"),
    form="root",
)


NOT_UPGRADED: Final = NameTable(
    "Operators whose upgraders are left out.",
    Names("full full.out", "PyTorch waits for a change of their schemas."),
    Names("full.names", "PyTorch waits for a change of its schema.", until="2.13"),
    form="overload",
)
