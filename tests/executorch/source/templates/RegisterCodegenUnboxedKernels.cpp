#include "${fn_header}"

// ${generated_comment}
// The kernels register themselves when the program starts.

namespace torch {
namespace executor {
namespace {
static Kernel all_kernels[] = {
    ${unboxed_kernels} // The last kernel ends with a comma.
};
static auto registered = register_kernels({all_kernels, all_kernels + sizeof(all_kernels) / sizeof(Kernel)});
} // namespace
} // namespace executor
} // namespace torch
