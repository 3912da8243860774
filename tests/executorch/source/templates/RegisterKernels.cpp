#include "${fn_header}"

// ${generated_comment}
#include "RegisterKernels.h"

namespace torch {
namespace executor {
Error register_all_kernels() {
  Kernel all_kernels[] = {
      ${unboxed_kernels} // The last kernel ends with a comma.
  };
  return register_kernels({all_kernels, all_kernels + sizeof(all_kernels) / sizeof(Kernel)});
}
} // namespace executor
} // namespace torch
