#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/kernel/kernel_includes.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/profiler.h>
#include "${fn_header}"

// ${generated_comment}
// The kernels register themselves when the program starts.

namespace torch {
namespace executor {
namespace {

namespace internal = ::executorch::ET_RUNTIME_NAMESPACE::internal;

const Kernel kernels[] = {
    ${unboxed_kernels}
};

const Error status = ::executorch::ET_RUNTIME_NAMESPACE::register_kernels(
    {kernels, sizeof(kernels) / sizeof(Kernel)});

} // namespace
} // namespace executor
} // namespace torch
