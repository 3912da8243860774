"""The repository `opwright` for projects with a MODULE.bazel.

    opwright = use_extension("@opwright_rules//:extensions.bzl", "opwright")
    opwright.environment(python = "/opt/venv/bin/python")
    use_repo(opwright, "opwright")
"""

load("//:opwright.bzl", "ENVIRONMENT", "opwright_repository")

def _opwright_impl(ctx):
    tags = [tag for module in ctx.modules if module.is_root for tag in module.tags.environment]
    if len(tags) != 1:
        fail("MODULE.bazel has %d `opwright.environment(...)` where it should have one" % len(tags))
    values = {name: getattr(tags[0], name) for name in ENVIRONMENT}
    opwright_repository(name = "opwright", load_rules = True, **values)

opwright = module_extension(
    implementation = _opwright_impl,
    doc = "Makes the repository `opwright` with the arguments of the tag `environment`; `opwright_repository` has them.",
    tag_classes = {"environment": tag_class(attrs = ENVIRONMENT)},
)
