// ${generated_comment}
#pragma once

namespace torch {
namespace executor {
Error register_all_kernels();
} // namespace executor
} // namespace torch
