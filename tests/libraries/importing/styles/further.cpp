// Further styles of registration, each in a namespace of its own.
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/types.h>
#include <any>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <string_view>
#include <vector>

at::Tensor same(const at::Tensor& x) { return x.clone(); }
at::Tensor other(const at::Tensor& x) { return x.clone(); }

// constexpr if and a generic lambda
TORCH_LIBRARY(t01, m) {
  auto reg = [](auto& l) { if constexpr (sizeof(l) > 0) { l.def("f(Tensor x) -> Tensor"); l.impl("f", c10::DispatchKey::CPU, &same); } };
  reg(m);
}
// a class that is a library
struct T02 {
  torch::Library lib{torch::Library::DEF, "t02", std::nullopt, __FILE__, __LINE__};
  torch::Library* operator->() { return &lib; }
  operator torch::Library&() { return lib; }
};
static T02 t02;
static int t02_done = (t02->def("f(Tensor x) -> Tensor"), t02->impl("f", c10::DispatchKey::CPU, &same), 0);
// an operator that defines
static torch::Library& operator<<(torch::Library& m, const char* schema) { return m.def(schema, &same); }
TORCH_LIBRARY(t03, m) { m << "f(Tensor x) -> Tensor" << "g(Tensor x) -> Tensor"; }
// digraphs, raw strings
TORCH_LIBRARY(t04, m) <% m.def("f(Tensor x) -> Tensor"); m.def(R"schema(g(Tensor x) -> Tensor)schema"); m.impl("f", c10::DispatchKey::CPU, &same); %>
// a literal of the user's
static const char* operator""_schema(const char* text, size_t) { return text; }
TORCH_LIBRARY(t05, m) { m.def("f(Tensor x) -> Tensor"_schema); m.impl("f"_schema, c10::DispatchKey::CPU, &same); }
// a struct with a reference, a pair with one
struct T06 { torch::Library& lib; };
TORCH_LIBRARY(t06, m) { T06 t{m}; t.lib.def("f(Tensor x) -> Tensor"); t.lib.impl("f", c10::DispatchKey::CPU, &same); }
TORCH_LIBRARY(t07, m) { auto [lib, key] = std::pair<torch::Library&, c10::DispatchKey>{m, c10::DispatchKey::CPU}; lib.def("f(Tensor x) -> Tensor"); lib.impl("f", key, &same); }
// through void*
extern "C" void t08_c(void* p) { auto& l = *static_cast<torch::Library*>(p); l.def("f(Tensor x) -> Tensor"); l.impl("f", c10::DispatchKey::CPU, &same); }
TORCH_LIBRARY(t08, m) { t08_c(&m); }
// a list of functions that capture
TORCH_LIBRARY(t09, m) {
  std::vector<std::function<void()>> all;
  all.push_back([&] { m.def("f(Tensor x) -> Tensor"); });
  all.emplace_back([&m] { m.impl("f", c10::DispatchKey::CPU, &same); });
  for (auto& each : all) each();
}
// registered for TorchScript alone
static torch::jit::RegisterOperators t10({torch::jit::Operator("t10::f(Tensor x) -> Tensor",
    [](torch::jit::Stack& stack) { stack.back() = stack.back().toTensor().clone(); }, c10::AliasAnalysisKind::FROM_SCHEMA)});
// a class by itself
struct T11 : torch::CustomClassHolder { int64_t get() { return 1; } };
static auto t11 = torch::class_<T11>("t11", "Thing").def(torch::init<>()).def("get", &T11::get);
// the C interface
static void t12_boxed(uint64_t* stack, uint64_t, uint64_t) {}
static int t12 = [] {
  TorchLibraryHandle lib;
  aoti_torch_library_init_def("t12", "here", 1, &lib);
  aoti_torch_library_def(lib, "f(Tensor x) -> Tensor");
  TorchLibraryHandle impl;
  aoti_torch_library_init_impl("t12", "CPU", "here", 1, &impl);
  aoti_torch_library_impl(impl, "f", &t12_boxed);
  return 0;
}();
// kernels in variables, that are moved
TORCH_LIBRARY(t13, m) { auto fn = torch::CppFunction(&same); m.def("f(Tensor x) -> Tensor"); m.impl("f", std::move(fn)); }
// optional, any, map, thread
static std::optional<torch::Library> t14;
static int t14_done = (t14.emplace(torch::Library::DEF, "t14", std::nullopt, __FILE__, __LINE__), t14->def("f(Tensor x) -> Tensor"), 0);
static std::map<std::string, std::shared_ptr<torch::Library>> t15;
static int t15_done = [] { auto& l = t15["x"]; l = std::make_shared<torch::Library>(torch::Library::DEF, "t15", std::nullopt, __FILE__, __LINE__); l->def("f(Tensor x) -> Tensor"); l->impl("f", c10::DispatchKey::CPU, &same); return 0; }();
TORCH_LIBRARY(t16, m) { std::thread([&] { m.def("f(Tensor x) -> Tensor", &same); }).join(); m.def("g(Tensor x) -> Tensor"); }
// later
TORCH_LIBRARY(t17, m) { m.def("f(Tensor x) -> Tensor"); }
static int64_t t17_later() { static torch::Library l(torch::Library::IMPL, "t17", c10::DispatchKey::CPU, __FILE__, __LINE__); l.impl("f", &same); return 0; }
TORCH_LIBRARY_FRAGMENT(t17, m) { m.def("later() -> int", &t17_later); }
static auto t17_now = t17_later();
// a second library
TORCH_LIBRARY(t18, m) { m.def("f(Tensor x) -> Tensor"); }
static void* t18 = dlopen(std::getenv("T18"), RTLD_NOW);
// namespaces by other names, typedef
namespace th = torch;
static th::Library t19(th::Library::DEF, "t19", std::nullopt, __FILE__, __LINE__);
static auto& t19_f = t19.def("f(Tensor x) -> Tensor").impl("f", c10::DispatchKey::CPU, &same);
TORCH_LIBRARY(t20, m) { decltype(m) l = m; std::remove_reference_t<decltype(m)>* p = &l; p->def("f(Tensor x) -> Tensor"); l.impl("f", c10::DispatchKey::CPU, &same); }
// methods by pointers
TORCH_LIBRARY(t21, m) {
  m.def("f(Tensor x) -> Tensor");
  torch::Library& (torch::Library::*impl)(const char*, decltype(&same)&&, torch::_RegisterOrVerify) & = &torch::Library::impl<const char*, decltype(&same)>;
  (m.*impl)("f", &same, torch::_RegisterOrVerify::REGISTER);
}
// a key by a macro, by a text
#define T22_KEY CPU
TORCH_LIBRARY(t22, m) { m.def("f(Tensor x) -> Tensor"); m.def("g(Tensor x) -> Tensor"); m.impl("g", torch::dispatch(c10::parseDispatchKey("AutogradCPU"), &same)); }
TORCH_LIBRARY_IMPL(t22, T22_KEY, m) { m.impl("f", &same); }
// a concept, a recursion
template <class L> concept T23 = requires(L& l) { l.def("x"); };
template <class L> void t23_one(L& l) {}
template <class L, class... S> void t23_one(L& l, const char* s, S... rest) { l.def(s, &same); t23_one(l, rest...); }
static void t23_fill(auto& m) { t23_one(m, "f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor"); }
TORCH_LIBRARY(t23, m) { t23_fill(m); }
// names in constants, in a struct
struct T24 { static constexpr char name[] = "f"; static constexpr std::string_view schema = "f(Tensor x) -> Tensor"; };
TORCH_LIBRARY(t24, m) { m.def(T24::schema.data()); m.impl(T24::name, c10::DispatchKey::CPU, &same); }
// goto, labels, nested blocks, attributes
TORCH_LIBRARY(t25, m) {
  { { [[maybe_unused]] auto& l = m.def("f(Tensor x) -> Tensor"); } }
  goto end;
  m.def("never(Tensor x) -> Tensor");
end:
  m.impl("f", c10::DispatchKey::CPU, &same);
}
// a variable template, an inline variable of a class
template <int N> torch::Library& t26_lib = *new torch::Library(torch::Library::FRAGMENT, "t26", std::nullopt, __FILE__, N);
static auto& t26 = t26_lib<3>.def("f(Tensor x) -> Tensor").impl("f", c10::DispatchKey::CPU, &same);
struct T27 { static inline torch::Library lib{torch::Library::DEF, "t27", std::nullopt, __FILE__, __LINE__}; static inline auto& f = lib.def("f(Tensor x) -> Tensor").impl("f", c10::DispatchKey::CPU, &same); };
// a namespace that is joined
#define T28_NS(a) t28_##a
#define T28_LIB(a, m) TORCH_LIBRARY_FRAGMENT(T28_NS(a), m)
#define T28(...) __VA_ARGS__
T28(TORCH_LIBRARY(t28, m) { m.def("f(Tensor x) -> Tensor"); m.impl("f", c10::DispatchKey::CPU, &same); })
// macro overrides
#define m_def m.def
TORCH_LIBRARY(t29, m) { m_def("f(Tensor x) -> Tensor"); m.impl("f", c10::DispatchKey::CPU, &same); }
// def with a kernel, then other kernels elsewhere by a helper in another file
#include "further.ipp"
TORCH_LIBRARY(t30, m) { m.def("f(Tensor x) -> Tensor"); }
T30_IMPL(t30)
// init function at a lower level
static const torch::detail::TorchLibraryInit t31(torch::Library::DEF, [](torch::Library& l) { l.def("f(Tensor x) -> Tensor"); l.impl("f", c10::DispatchKey::CPU, &same); }, "t31", std::nullopt, __FILE__, __LINE__);
// named lambda kept for later and called by a static of another type
static auto t32_fill = [](torch::Library&& m) -> torch::Library&& { m.def("f(Tensor x) -> Tensor"); return std::move(m); };
static torch::Library t32 = t32_fill(torch::Library(torch::Library::DEF, "t32", std::nullopt, __FILE__, __LINE__));
// a definition of an out-of-namespace op in a block for `_`
TORCH_LIBRARY(t33, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(t33, CPU, m) { m.impl(c10::OperatorName("t33::f", "").name.c_str(), &same); }
// an alias of the macro parameters, line splices
TORCH_LIBRARY(t34, \
m) { m.d\
ef("f(Tensor x) -> Ten\
sor"); m.impl("f", c10::DispatchKey::CPU, &same); }
// kernels of other namespaces' operators from within a block
TORCH_LIBRARY(t35, m) { m.def("f(Tensor x) -> Tensor"); torch::Library l(torch::Library::IMPL, "t33", c10::DispatchKey::Meta, __FILE__, __LINE__); static auto keep = std::make_unique<torch::Library>(std::move(l)); keep->impl("f", &same); }
TORCH_LIBRARY(t36, m) { m.def("f(Tensor x) -> Tensor"); using std::swap; torch::Library tmp(torch::Library::FRAGMENT, "t37", std::nullopt, "x", 1); static std::vector<torch::Library> v; v.push_back(std::move(tmp)); v[0].def("f(Tensor x) -> Tensor"); }
