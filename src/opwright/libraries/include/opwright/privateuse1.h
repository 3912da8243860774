#pragma once
// Macros for files with the kernels of a backend outside PyTorch. They have the names and meanings of those that are
// proposed for PyTorch itself, so that one kernel file serves both.
//
// The header of the backend's kernels defines TORCH_PRIVATEUSE1_CLASS as the class that has the kernels as members,
// unless it is defined before. The macros are used in the namespace of that class.

// The name of a kernel, or of another member.
#ifndef TORCH_PRIVATEUSE1_FUNC
#define TORCH_PRIVATEUSE1_FUNC(name) TORCH_PRIVATEUSE1_CLASS::name
#endif

// The head of the compute function of a structured kernel; its parameters follow.
#ifndef TORCH_PRIVATEUSE1_IMPL_FUNC
#define TORCH_PRIVATEUSE1_IMPL_FUNC(name) void TORCH_PRIVATEUSE1_CLASS::structured_##name::impl
#endif

// The head of the shape function of a structured kernel with `define_meta`. The second form joins the two parts of the
// kernel's name.
#ifndef TORCH_PRIVATEUSE1_META_FUNC
#define TORCH_PRIVATEUSE1_META_FUNC(name) void TORCH_PRIVATEUSE1_CLASS::structured_##name::meta
#endif
#ifndef TORCH_PRIVATEUSE1_META_FUNC2
#define TORCH_PRIVATEUSE1_META_FUNC2(name, overload) TORCH_PRIVATEUSE1_META_FUNC(name##_##overload)
#endif

// The same for a shape function that returns precomputed values.
#ifndef TORCH_PRIVATEUSE1_PRECOMPUTE_META_FUNC
#define TORCH_PRIVATEUSE1_PRECOMPUTE_META_FUNC(name)            \
  TORCH_PRIVATEUSE1_CLASS::structured_##name::meta_return_ty    \
  TORCH_PRIVATEUSE1_CLASS::structured_##name::meta
#endif
#ifndef TORCH_PRIVATEUSE1_PRECOMPUTE_META_FUNC2
#define TORCH_PRIVATEUSE1_PRECOMPUTE_META_FUNC2(name, overload) TORCH_PRIVATEUSE1_PRECOMPUTE_META_FUNC(name##_##overload)
#endif

// The precomputed values, none of them set.
#ifndef TORCH_PRIVATEUSE1_PRECOMPUTE_STRUCT
#define TORCH_PRIVATEUSE1_PRECOMPUTE_STRUCT(name) TORCH_PRIVATEUSE1_CLASS::structured_##name::precompute_out<>
#endif
#ifndef TORCH_PRIVATEUSE1_PRECOMPUTE_STRUCT2
#define TORCH_PRIVATEUSE1_PRECOMPUTE_STRUCT2(name, overload) TORCH_PRIVATEUSE1_PRECOMPUTE_STRUCT(name##_##overload)
#endif
