// ${generated_comment}
#pragma once

#include <executorch/runtime/core/error.h>

namespace torch {
namespace executor {

// Registers all kernels.
Error register_all_kernels();

} // namespace executor
} // namespace torch
