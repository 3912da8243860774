// ${generated_comment}
${ops_headers}

namespace at {
namespace {
${dispatch_anonymous_definitions}

${static_init_dispatch_registrations}
} // namespace
namespace ${dispatch_namespace} {
${dispatch_namespaced_definitions}
} // namespace ${dispatch_namespace}
} // namespace at
