#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/kernel/kernel_includes.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/profiler.h>
#include "${fn_header}"
#include "RegisterKernels.h"

// ${generated_comment}

namespace torch {
namespace executor {

Error register_all_kernels() {
  namespace internal = ::executorch::ET_RUNTIME_NAMESPACE::internal;
  static const Kernel kernels[] = {
      ${unboxed_kernels}
  };
  return ::executorch::ET_RUNTIME_NAMESPACE::register_kernels(
      {kernels, sizeof(kernels) / sizeof(Kernel)});
}

} // namespace executor
} // namespace torch
