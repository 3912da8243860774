// ${generated_comment}
#include <ATen/ATen.h>
#include <torch/library.h>
${ops_headers}

namespace at {
namespace {
${dispatch_anonymous_definitions}

${static_init_dispatch_registrations}
} // namespace
} // namespace at
