// The latest styles of registration, each in a namespace of its own.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/csrc/stable/ops.h>
#include <torch/library.h>
#include <torch/types.h>
#include <ATen/core/op_registration/op_registration.h>
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>
#include <variant>

at::Tensor same(const at::Tensor& x) { return x.clone(); }
at::Tensor other(const at::Tensor& x) { return x.clone(); }

// a CRTP base that registers when a class is derived
template <class D>
struct U01Base {
  static int enrol() {
    static auto lib = torch::Library(torch::Library::FRAGMENT, D::ns(), std::nullopt, __FILE__, __LINE__);
    lib.def(D::schema());
    lib.impl(D::name(), torch::dispatch(D::key(), torch::CppFunction::makeFromUnboxedFunction(&D::run)));
    return 1;
  }
  static inline int done = enrol();
  static const int* touch() { return &done; }
};
struct U01 : U01Base<U01> {
  static const char* ns() { return "u01"; }
  static const char* name() { return "f"; }
  static const char* schema() { return "f(Tensor x) -> Tensor"; }
  static c10::DispatchKey key() { return c10::DispatchKey::CPU; }
  static at::Tensor run(const at::Tensor& x) { return x.clone(); }
};
static const int* u01 = U01::touch();

// variant visit, tuple apply
TORCH_LIBRARY(u03, m) {
  std::variant<const char*, std::string> schema = std::string("f(Tensor x) -> Tensor");
  std::visit([&](auto& s) { m.def(std::string(s).c_str()); }, schema);
  std::apply([&](auto... key) { (m.impl("f", torch::dispatch(key, &same)), ...); },
             std::make_tuple(c10::DispatchKey::CPU, c10::DispatchKey::FuncTorchBatched));
}
// user-defined conversion, a comma-separated macro with tags
#define U04_OP(n, ...) m.def(#n "(Tensor x) -> Tensor", {__VA_ARGS__});
TORCH_LIBRARY(u04, m) { U04_OP(f, at::Tag::core, at::Tag::pointwise) U04_OP(g, at::Tag::core) m.impl("f", c10::DispatchKey::CPU, &same); }
// a destructor that registers
struct U05 {
  torch::Library& m;
  ~U05() { m.def("f(Tensor x) -> Tensor"); m.impl("f", c10::DispatchKey::CPU, &same); }
};
TORCH_LIBRARY(u05, m) { U05 later{m}; }
// a shared_ptr with a deleter
TORCH_LIBRARY(u06, m) {
  std::shared_ptr<torch::Library> p(&m, [](torch::Library* l) { l->def("g(Tensor x) -> Tensor"); });
  p->def("f(Tensor x) -> Tensor");
}
// environment, by a map of functions
static const std::map<std::string, void (*)(torch::Library&)> u07_all{
    {"on", [](torch::Library& l) { l.def("f(Tensor x) -> Tensor"); }},
    {"off", [](torch::Library& l) { l.def("g(Tensor x) -> Tensor"); }}};
TORCH_LIBRARY(u07, m) { u07_all.at(std::getenv("U07") ? "off" : "on")(m); m.def("h(Tensor x) -> Tensor"); }
// Autograd class under a key that is not Autograd; kernels for Meta, AutogradCPU, FuncTorchBatched
struct U08Sine : torch::autograd::Function<U08Sine> {
  static at::Tensor forward(torch::autograd::AutogradContext* c, const at::Tensor& x) { c->save_for_backward({x}); return x.sin(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* c, torch::autograd::variable_list g) { return {g[0] * c->get_saved_variables()[0].cos()}; }
};
at::Tensor u08_sine(const at::Tensor& x) { return U08Sine::apply(x); }
TORCH_LIBRARY(u08, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(u08, CPU, m) { m.impl("f", &same); }
TORCH_LIBRARY_IMPL(u08, AutogradCPU, m) { m.impl("f", &u08_sine); }
TORCH_LIBRARY_IMPL(u08, Meta, m) { m.impl("f", [](const at::Tensor& x) { return at::empty_like(x); }); }
TORCH_LIBRARY_IMPL(u08, FuncTorchBatched, m) { m.impl("f", &other); }
TORCH_LIBRARY_IMPL(u08, AutocastCPU, m) { m.impl("f", &other); }
TORCH_LIBRARY_IMPL(u08, Functionalize, m) { m.impl("f", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(u08, PrivateUse1, m) { m.impl("f", &same); }
TORCH_LIBRARY_IMPL(u08, SparseCPU, m) { m.impl("f", &same); }
TORCH_LIBRARY_IMPL(u08, Tracer, m) { m.impl("f", &same); }
// placement new
alignas(torch::Library) static char u09_memory[sizeof(torch::Library)];
static auto* u09 = new (u09_memory) torch::Library(torch::Library::DEF, "u09", std::nullopt, __FILE__, __LINE__);
static auto& u09_f = u09->def("f(Tensor x) -> Tensor", &same);
// old API: options chained over names, with a lambda kernel, two operators; catchall and keys
static auto u10 = c10::RegisterOperators()
    .op("u10::f(Tensor x) -> Tensor", c10::RegisterOperators::options()
        .kernel(c10::DispatchKey::CPU, [](const at::Tensor& x) { return x.clone(); })
        .kernel<decltype(same), &same>(c10::DispatchKey::CUDA))
    .op(c10::RegisterOperators::options().schema("u10::g(Tensor x) -> Tensor").catchAllKernel([](const at::Tensor& x) { return x.clone(); }));
// registerImpl in a loop over a table of keys; registerFallback
static std::vector<c10::RegistrationHandleRAII> u11_handles;
static int u11 = [] {
  auto& d = c10::Dispatcher::singleton();
  u11_handles.push_back(d.registerDef(torch::schema("u11::f(Tensor x) -> Tensor"), "u11"));
  for (auto key : {c10::DispatchKey::CPU, c10::DispatchKey::XPU})
    u11_handles.push_back(d.registerImpl({"u11::f", ""}, key, c10::KernelFunction::makeFromUnboxedRuntimeFunction(&same), std::nullopt, nullptr, "u11"));
  return 0;
}();
// a block with a name that is a keyword-like macro, attributes before it, and one in a namespace with using
namespace deep { namespace inner { using ::same; TORCH_LIBRARY(u12, library) { library.def("f(Tensor x) -> Tensor").impl("f", c10::DispatchKey::CPU, TORCH_FN(same)); } } }
// a lambda with a capture as kernel
static int u13_n = 3;
TORCH_LIBRARY(u13, m) { int n = u13_n; m.def("f(Tensor x) -> Tensor", [n](const at::Tensor& x) { return x + n; }); }
// kernels by `selective`, and lazily initialised library
TORCH_LIBRARY(u14, m) { m.def(TORCH_SELECTIVE_SCHEMA("u14::f(Tensor x) -> Tensor")); m.def("g(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(u14, CPU, m) { m.impl(TORCH_SELECTIVE_NAME("u14::f"), TORCH_FN(same)); }
// a second namespace through a function try block of a constructor, and a thread_local library
struct U15 { torch::Library l; U15() try : l(torch::Library::DEF, "u15", std::nullopt, __FILE__, __LINE__) { l.def("f(Tensor x) -> Tensor"); l.impl("f", c10::DispatchKey::CPU, &same); } catch (...) { throw; } };
static thread_local int u15_unused = 0;
static auto u15 = std::make_unique<U15>();
// an extern template, a static member that is a library, defined out of the class
struct U16 { static torch::Library lib; static int fill(); static const int done; };
torch::Library U16::lib{torch::Library::DEF, "u16", std::nullopt, __FILE__, __LINE__};
int U16::fill() { lib.def("f(Tensor x) -> Tensor"); lib.impl("f", c10::DispatchKey::CPU, &same); return 0; }
const int U16::done = U16::fill();
// comments and texts that look like registrations, beside one that is real
// TORCH_LIBRARY(fake99, m) { m.def("fake(Tensor x) -> Tensor"); }
static const char* u17_text = R"(TORCH_LIBRARY(fake98, m) { m.def("fake(Tensor x) -> Tensor"); })";
TORCH_LIBRARY(u17, m) { /* m.def("g(Tensor x) -> Tensor"); */ m.def("f(Tensor x) -> Tensor" /* ) */, &same); }
#if 0
TORCH_LIBRARY(fake97, m) { m.def("fake(Tensor x) -> Tensor"); }
#endif
// an operator of two overloads with defaults, one with kernels for Autograd only
TORCH_LIBRARY(u18, m) {
  m.def("f(Tensor x, *, float by=1.5, int[2] n=[1, 2], str? s=None, ScalarType? d=None) -> Tensor");
  m.def("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("f.list(Tensor[] xs) -> Tensor[]");
}
TORCH_LIBRARY_IMPL(u18, Autograd, m) { m.impl("f.list", [](at::TensorList xs) { return xs.vec(); }); }
// _ block for all operators of a namespace
TORCH_LIBRARY(u19, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(_, PrivateUse3, m) { m.fallback(torch::CppFunction::makeFallthrough()); }
// a macro with an argument that is the variable
#define U20_ALL(l) l.def("f(Tensor x) -> Tensor"); l.impl("f", c10::DispatchKey::CPU, &same)
TORCH_LIBRARY(u20, weird) { U20_ALL(weird); }
