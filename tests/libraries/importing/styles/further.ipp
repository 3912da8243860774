#define T30_IMPL(ns) TORCH_LIBRARY_IMPL(ns, AutogradCPU, lib) { lib.impl("f", torch::CppFunction::makeFallthrough()); } \
  TORCH_LIBRARY_IMPL(ns, CPU, lib) { lib.impl("f", &same); }
