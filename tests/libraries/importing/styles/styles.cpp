// Styles of registration, each in a namespace of its own.
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/library.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "more.h"

at::Tensor same(const at::Tensor& x) { return x.clone(); }
at::Tensor other(const at::Tensor& x) { return x.clone(); }
int64_t version() { return 3; }
namespace {
at::Tensor hidden(const at::Tensor& x) { return x.clone(); }
struct Kernels {
  static at::Tensor stat(const at::Tensor& x) { return x.clone(); }
};
struct Functor final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*) {}
};
}  // namespace
template <int N, bool F>
at::Tensor kt(const at::Tensor& x) { return x + N; }
at::Tensor over(const at::Tensor& x) { return x.clone(); }
at::Tensor over(const at::Tensor& x, int64_t n) { return x + n; }
void boxed(const c10::OperatorHandle&, torch::jit::Stack*) {}
template <auto F>
struct Wrap {
  static at::Tensor call(const at::Tensor& x) { return F(x); }
};

// plain
TORCH_LIBRARY(s01, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(s01, CPU, m) { m.impl("f", &same); }

// X-macros
#define S02_OPS(X) X(relu6x) X(gelux)
#define S02_DEF(name) m.def(#name "(Tensor x) -> Tensor");
#define S02_IMPL(name) m.impl(#name, &same);
TORCH_LIBRARY(s02, m) { S02_OPS(S02_DEF) }
TORCH_LIBRARY_IMPL(s02, CPU, m) { S02_OPS(S02_IMPL) }

// a helper that takes the library
void s03_more(torch::Library& m) {
  m.def("f(Tensor x) -> Tensor");
  m.impl("f", c10::DispatchKey::CPU, &same);
}
TORCH_LIBRARY(s03, m) { s03_more(m); }

// a template that takes the library
template <int N>
void s04_more(torch::Library& m, const char* name) { m.def(name, &kt<N, true>); }
TORCH_LIBRARY(s04, m) { s04_more<3>(m, "f"); m.def("g(Tensor x) -> Tensor"); }

// an object
static torch::Library s05(torch::Library::DEF, "s05", std::nullopt, __FILE__, __LINE__);
static int s05_done = [] { s05.def("f(Tensor x) -> Tensor"); s05.impl("f", c10::DispatchKey::CPU, &same); return 0; }();

// a reference
TORCH_LIBRARY(s06, m) { auto& l = m; l.def("f(Tensor x) -> Tensor"); l.impl("f", c10::DispatchKey::CPU, &same); }

// a loop over names
TORCH_LIBRARY(s07, m) {
  for (const char* name : {"one", "two"}) m.def((std::string(name) + "(Tensor x) -> Tensor").c_str());
}

// a condition at run time
TORCH_LIBRARY(s08, m) {
  m.def("f(Tensor x) -> Tensor");
  if (!std::getenv("S08_OFF")) { m.def("g(Tensor x) -> Tensor"); m.impl("f", c10::DispatchKey::CPU, &same); }
}

// a static initialiser with an object inside
struct S09 {
  torch::Library library;
  S09() : library(torch::Library::DEF, "s09", std::nullopt, __FILE__, __LINE__) {
    library.def("f(Tensor x) -> Tensor");
  }
};
static S09 s09;

// a list of keys
TORCH_LIBRARY(s10, m) {
  m.def("f(Tensor x) -> Tensor");
  for (auto key : {c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU}) m.impl("f", torch::dispatch(key, &same));
}

// lambdas
TORCH_LIBRARY(s11, m) { m.def("f(Tensor x) -> Tensor", [](const at::Tensor& x) { return x.clone(); }); }

// a functor, boxed kernels, fallthroughs
TORCH_LIBRARY(s12, m) {
  m.def("f(Tensor x) -> Tensor");
  m.impl("f", torch::dispatch(c10::DispatchKey::CPU, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Functor>())));
}
TORCH_LIBRARY(s13, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(s13, CUDA, m) { m.impl("f", torch::CppFunction::makeFromBoxedFunction<&boxed>()); }
TORCH_LIBRARY(s14, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(s14, AutogradCPU, m) { m.impl("f", torch::CppFunction::makeFallthrough()); }

// RegisterOperators
static auto s15 = torch::RegisterOperators()
    .op("s15::f(Tensor x) -> Tensor", torch::RegisterOperators::options().kernel<decltype(same), &same>(c10::DispatchKey::CPU))
    .op("s15::g(Tensor x) -> Tensor", &other);
static auto s16 = torch::RegisterOperators("s16::f(Tensor x) -> Tensor", &same);

// an inferred schema
TORCH_LIBRARY(s17, m) { m.def("f", &version); m.def("g", TORCH_FN(same)); }

// a macro that is the block
#define S18_LIBRARY(ns, name) TORCH_LIBRARY(ns, m) { m.def(name "(Tensor x) -> Tensor"); }
S18_LIBRARY(s18, "f")

// the namespace by a macro
#define S19_NAME s19
TORCH_LIBRARY(S19_NAME, m) { m.def("f(Tensor x) -> Tensor"); }

// schemas in constants, and texts that are joined
constexpr const char* S20 = "f(Tensor x) -> Tensor";
TORCH_LIBRARY(s20, m) { m.def(S20); }
TORCH_LIBRARY(s21, m) { m.def((std::string("f") + "(Tensor x) -> Tensor").c_str()); m.def("g(Tensor x)" " -> Tensor"); }
TORCH_LIBRARY(s22, m) { m.def(torch::schema("f(Tensor x) -> Tensor", c10::AliasAnalysisKind::PURE_FUNCTION)); }

// lambdas and pointers around the library
TORCH_LIBRARY(s23, m) { [&] { m.def("f(Tensor x) -> Tensor"); }(); }
TORCH_LIBRARY(s24, m) { auto* p = &m; p->def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY(s25, m) { auto add = [&m](const char* schema) { m.def(schema); }; add("f(Tensor x) -> Tensor"); }
struct S26Row { const char* schema; at::Tensor (*kernel)(const at::Tensor&); };
static const S26Row S26_ROWS[] = {{"f(Tensor x) -> Tensor", &same}, {"g(Tensor x) -> Tensor", &other}};
TORCH_LIBRARY(s26, m) { for (const auto& row : S26_ROWS) m.def(row.schema, row.kernel); }

// kernels without a plain name
TORCH_LIBRARY(s27, m) {
  m.def("f(Tensor x) -> Tensor", static_cast<at::Tensor (*)(const at::Tensor&)>(&over));
}
TORCH_LIBRARY(s28, m) { m.def("f(Tensor x) -> Tensor", &kt<3, true>); m.def("g(Tensor x) -> Tensor", TORCH_FN((kt<4, false>))); }
TORCH_LIBRARY(s29, m) { m.def("f(Tensor x) -> Tensor", &Kernels::stat); }
TORCH_LIBRARY(s30, m) { m.def("f(Tensor x) -> Tensor", &hidden); }

// conditions of the compiler
TORCH_LIBRARY(s31, m) { if constexpr (sizeof(void*) == 8) { m.def("f(Tensor x) -> Tensor"); } }
TORCH_LIBRARY(s32, m) {
#if defined(S32_ON) || 1
  m.def("f(Tensor x) -> Tensor");
#else
  m.def("g(Tensor x) -> Tensor");
#endif
}
TORCH_LIBRARY(s33, m) { m.def(std::getenv("S33") ? "f(Tensor x) -> Tensor" : "g(Tensor x) -> Tensor"); }

// an included list
TORCH_LIBRARY(s34, m) {
#include "more.inc"
}

// chains, objects by macros, functions and pointers
TORCH_LIBRARY(s35, m) { m.def("f(Tensor x) -> Tensor").impl("f", c10::DispatchKey::CPU, &same).def("g(Tensor x) -> Tensor"); }
static auto s36 = MAKE_TORCH_LIBRARY(s36);
static auto& s36_done = s36.def("f(Tensor x) -> Tensor");
torch::Library& s37() {
  static torch::Library library(torch::Library::FRAGMENT, "s37", std::nullopt, __FILE__, __LINE__);
  return library;
}
static auto& s37_done = s37().def("f(Tensor x) -> Tensor");
std::vector<std::function<void(torch::Library&)>>& s38_registry() {
  static std::vector<std::function<void(torch::Library&)>> registry;
  return registry;
}
static int s38_added = (s38_registry().push_back([](torch::Library& l) { l.def("f(Tensor x) -> Tensor"); }), 0);
TORCH_LIBRARY(s38, m) { for (auto& add : s38_registry()) add(m); }
TORCH_LIBRARY(s39, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(s39, AutogradPrivateUse1, m) { m.impl("f", &same); }

// names that macros join
#define S40_DEF(name) m.def("pre_" #name "(Tensor x) -> Tensor"); m.impl("pre_" #name, c10::DispatchKey::CPU, &name##_kernel)
at::Tensor twice_kernel(const at::Tensor& x) { return x * 2; }
TORCH_LIBRARY(s40, m) { S40_DEF(twice); }

TORCH_LIBRARY(s41, m) { m.set_python_module("s41.fakes"); m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_FRAGMENT(s42, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_FRAGMENT(s42, m) { m.def("g(Tensor x) -> Tensor", {at::Tag::core}); }
#define S43_LIBRARY TORCH_LIBRARY
S43_LIBRARY(s43, m) { m.def("f(Tensor x) -> Tensor"); }
static auto s44 = std::make_unique<torch::Library>(torch::Library::DEF, "s44", std::nullopt, __FILE__, __LINE__);
static auto& s44_done = s44->def("f(Tensor x) -> Tensor");
static auto s45 = c10::Dispatcher::singleton().registerDef(torch::schema("s45::f(Tensor x) -> Tensor"), "here");
static auto* s46 = new torch::Library(torch::Library::DEF, "s46", std::nullopt, __FILE__, __LINE__);
static auto& s46_done = s46->def("f(Tensor x) -> Tensor");
using Lib = torch::Library;
void s47_more(Lib& l) { l.impl("f", c10::DispatchKey::AutogradCPU, &same); }
TORCH_LIBRARY(s47, m) { m.def("f(Tensor x) -> Tensor", &same); s47_more(m); }
static Lib s48(Lib::DEF, "s48", std::nullopt, __FILE__, __LINE__);
static auto& s48_done = s48.def("f(Tensor x) -> Tensor");
TORCH_LIBRARY(s49, m) { m.def("s49::f(Tensor x) -> Tensor"); m.def("g.over(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(s49, CPU, m) { m.impl(TORCH_SELECTIVE_NAME("s49::f"), &same); m.impl("s49::g.over", same); }

// a library object that a function keeps, and torch::dispatch
static int s50_begin() {
  static torch::Library library(torch::Library::DEF, "s50", std::nullopt, __FILE__, __LINE__);
  library.def("f(Tensor x) -> Tensor", torch::dispatch(c10::DispatchKey::CPU, &same));
  return 1;
}
static int s50 = s50_begin();

// libraries in a container
static std::vector<torch::Library> s51_libraries;
static int s51 = [] {
  s51_libraries.emplace_back(torch::Library::DEF, "s51", std::nullopt, __FILE__, __LINE__);
  s51_libraries.back().def("f(Tensor x) -> Tensor").impl("f", c10::DispatchKey::CPU, &same);
  return 0;
}();

// a function that the loader calls
__attribute__((constructor)) static void s52_begin() {
  static auto library = torch::Library(torch::Library::FRAGMENT, "s52", std::nullopt, "x", 1);
  library.def("f(Tensor x) -> Tensor");
  library.impl("f", torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, &other));
}

// boxed kernels and fallthroughs for keys
TORCH_LIBRARY(s53, m) {
  m.def("f(Tensor x) -> Tensor");
  m.impl("f", torch::dispatch(c10::DispatchKey::CPU, torch::CppFunction::makeFromBoxedFunction<&boxed>()));
  m.impl("f", torch::dispatch(c10::DispatchKey::Autograd, torch::CppFunction::makeFallthrough()));
}

// a struct of tables
struct S54Row { const char* schema; const char* name; at::Tensor (*kernel)(const at::Tensor&); };
static const S54Row s54_rows[] = {{"f(Tensor x) -> Tensor", "f", &same}};
TORCH_LIBRARY(s54, m) {
  for (const auto& row : s54_rows) { m.def(row.schema); m.impl(row.name, c10::DispatchKey::CPU, row.kernel); }
}

// a library that goes through a function, and a pointer to it
static void s55_each(const std::function<void(torch::Library&)>& f, torch::Library& m) { f(m); }
TORCH_LIBRARY(s55, m) {
  s55_each([](torch::Library& library) { library.def("f(Tensor x) -> Tensor", &same); }, m);
  auto* pointer = &m;
  pointer->def("g(Tensor x) -> Tensor", &same);
}

// texts that are made
static std::string s56_schema(const std::string& name) { return name + "(Tensor x) -> Tensor"; }
TORCH_LIBRARY(s56, m) { m.def(s56_schema("f").c_str()); m.impl("f", c10::DispatchKey::CPU, &same); }

// blocks that macros make for keys
#define S57_KEYS(X) X(CPU) X(CompositeExplicitAutograd)
#define S57_BLOCK(key) TORCH_LIBRARY_IMPL(s57, key, m) { m.impl("f", &same); }
TORCH_LIBRARY(s57, m) { m.def("f(Tensor x) -> Tensor"); }
S57_KEYS(S57_BLOCK)

// commas and a lambda that is called
TORCH_LIBRARY(s58, m) {
  m.def("f(Tensor x) -> Tensor"), m.def("g(Tensor x) -> Tensor");
  [&] { m.impl("f", c10::DispatchKey::CPU, &same); }();
}

// a functor that is a kernel for all keys, and the dispatcher itself
struct S59 : c10::OperatorKernel { at::Tensor operator()(const at::Tensor& x) { return x.clone(); } };
static auto s59 = c10::RegisterOperators().op("s59::f", c10::RegisterOperators::options().catchAllKernel<S59>());
static auto s60 = c10::Dispatcher::singleton().registerDef(torch::schema("s60::f(Tensor x) -> Tensor"), "x", {});
static auto s60_kernel = c10::Dispatcher::singleton().registerImpl(
    {"s60::f", ""}, c10::DispatchKey::CPU, c10::KernelFunction::makeFromUnboxedRuntimeFunction(&same),
    c10::impl::CppSignature::make<at::Tensor(const at::Tensor&)>(), nullptr, "x");

// a template of a registration, and a class of TorchScript beside an operator
struct S61Name { static constexpr const char* value = "s61"; };
template <class Name>
struct S61Registrar {
  static void fill(torch::Library& m) { m.def("f(Tensor x) -> Tensor"); m.impl("f", c10::DispatchKey::CPU, &same); }
  static inline torch::detail::TorchLibraryInit init{
      torch::Library::DEF, &fill, Name::value, std::nullopt, __FILE__, __LINE__};
  int use = sizeof(&init);
};
template struct S61Registrar<S61Name>;
struct S62 : torch::CustomClassHolder { int64_t get() { return 1; } };
TORCH_LIBRARY(s62, m) {
  m.class_<S62>("Thing").def(torch::init<>()).def("get", &S62::get);
  m.def("f(Tensor x) -> Tensor", &same);
}

// a list that is included twice
#define MORE_OP(name) m.def(#name "(Tensor x) -> Tensor");
TORCH_LIBRARY(s63, m) {
#include "more.def"
}
#undef MORE_OP
#define MORE_OP(name) m.impl(#name, &same);
TORCH_LIBRARY_IMPL(s63, CPU, m) {
#include "more.def"
}
#undef MORE_OP

// a class with a library
class S64 {
 public:
  explicit S64(const char* ns) : lib_(torch::Library::FRAGMENT, ns, std::nullopt, __FILE__, __LINE__) {}
  S64& add(const char* name) { lib_.def((std::string(name) + "(Tensor x) -> Tensor").c_str()); return *this; }
  S64& on(const char* name, c10::DispatchKey key) { lib_.impl(name, key, &same); return *this; }
 private:
  torch::Library lib_;
};
static S64 s64_instance = std::move(S64("s64").add("f").on("f", c10::DispatchKey::CPU));

// kernels and names in arrays
using S65Kernel = at::Tensor (*)(const at::Tensor&);
static const std::array<S65Kernel, 2> s65_kernels = {+[](const at::Tensor& x) { return x.clone(); }, &other};
static const char* const s65_names[] = {"one", "two"};
TORCH_LIBRARY(s65, m) {
  m.def("one(Tensor x) -> Tensor");
  m.def("two(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(s65, CPU, m) {
  for (size_t i = 0; i < s65_kernels.size(); ++i) m.impl(s65_names[i], s65_kernels[i]);
}

// a block by a macro of a header
TORCH_LIBRARY(s66, m) { m.def("f(Tensor x) -> Tensor"); }
MORE_BLOCK(s66)

// boxed kernels in a loop, and a fallback
TORCH_LIBRARY(s67, m) { m.def("f(Tensor x) -> Tensor"); m.def("g(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(s67, PrivateUse1, m) {
  for (auto name : {"f", "g"}) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&boxed>());
}
TORCH_LIBRARY_IMPL(_, PrivateUse2, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

// macros for blocks
#define S68_CAT_(a, b) a##b
#define S68_CAT(a, b) S68_CAT_(a, b)
#define S68_LIB(name) TORCH_LIBRARY_FRAGMENT(name, m)
#define S68_OPS(name) S68_LIB(name) { m.def("f(Tensor x) -> Tensor"); } TORCH_LIBRARY_IMPL(name, CPU, m) { m.impl("f", &same); }
S68_OPS(s68)

// schemas that are objects
static const c10::OperatorName s69_name{"s69::f", ""};
static auto s69_def = c10::Dispatcher::singleton().registerDef(
    c10::FunctionSchema("s69::f", "", {c10::Argument("x")}, {c10::Argument("")}), "s69");
static auto& s69_dispatcher() { return c10::Dispatcher::singleton(); }
static auto s69_impl = s69_dispatcher().registerImpl(
    s69_name, c10::DispatchKey::CPU, c10::KernelFunction::makeFromUnboxedRuntimeFunction(&same), std::nullopt, nullptr, "s69");

TORCH_LIBRARY(s70, m) {
  m.def(c10::FunctionSchema("f", "", {c10::Argument("x")}, {c10::Argument("")}));
  m.impl("f", c10::DispatchKey::CPU, &same);
}

// options of `RegisterOperators`, and a list of these
static auto s71 = torch::RegisterOperators().op(
    torch::RegisterOperators::options()
        .schema("s71::f(Tensor x) -> Tensor")
        .catchAllKernel<decltype(same), &same>()
        .aliasAnalysis(c10::AliasAnalysisKind::PURE_FUNCTION));
static std::vector<c10::RegisterOperators> s72_all;
static int s72 = (s72_all.emplace_back("s72::f(Tensor x) -> Tensor", &same), 0);

// a constructor, a fold, an algorithm, and a function that C calls
struct S73A { static constexpr const char* schema = "f(Tensor x) -> Tensor"; };
template <class T> struct S73Reg { explicit S73Reg(torch::Library& m) { m.def(T::schema, &same); } };
TORCH_LIBRARY(s73, m) { S73Reg<S73A>{m}; }

TORCH_LIBRARY(s74, m) {
  auto all = [](torch::Library& l, auto... schemas) { (l.def(schemas), ...); };
  all(m, "f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor");
}
TORCH_LIBRARY(s75, m) {
  std::vector<std::pair<const char*, S65Kernel>> rows;
  rows.emplace_back("f(Tensor x) -> Tensor", &same);
  std::for_each(rows.begin(), rows.end(), [&](auto& row) { m.def(row.first, row.second); });
}
extern "C" int s76_init() {
  static auto lib = torch::Library{torch::Library::DEF, "s76", std::nullopt, __FILE__, __LINE__};
  lib.def("f(Tensor x) -> Tensor");
  for (auto key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA}) lib.impl("f", key, &same);
  return 0;
}
static const int s76 = s76_init();
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  const char* names[] = {"sin", "cos"};
  for (auto* name : names) m.impl(name, &same);
  m.impl("neg", TORCH_FN(other));
}
static c10::DispatchKey s77_key() { return c10::DispatchKey::CPU; }
TORCH_LIBRARY(s77, m) { m.def("f(Tensor x) -> Tensor"); m.impl("f", torch::dispatch(s77_key(), &same)); }

// tags in a variable
static const std::vector<at::Tag> s78_tags{at::Tag::pt2_compliant_tag, at::Tag::core};
TORCH_LIBRARY(s78, m) { m.def("f(Tensor x) -> Tensor", s78_tags); m.def(torch::schema("g(Tensor x) -> Tensor"), {at::Tag::core}); }
static void s79_take(torch::Library&& m) { m.def("f(Tensor x) -> Tensor"); m.impl("f", c10::DispatchKey::AutogradCPU, &same); }
TORCH_LIBRARY(s79, m) { s79_take(std::move(m)); }
TORCH_LIBRARY(s80, m) {
  m.def("f(Tensor x) -> Tensor");
  m.def("g(Tensor x) -> Tensor", torch::CppFunction(TORCH_FN(same)));
  m.def("h(Tensor x) -> Tensor", torch::CppFunction(&other).debug("here"));
  m.def("i(Tensor x) -> Tensor", &Wrap<&same>::call);
}
TORCH_LIBRARY_IMPL(s80, CPU, m) { m.impl("f", torch::CppFunction::makeFromUnboxedFunction(&same)); }
TORCH_LIBRARY(s81, m) { more_register(m); }

// other ways to write a call of the library
TORCH_LIBRARY(s82, m) { m.def("f(Tensor x) -> Tensor"); m.impl<const char*>("f", &same); }
TORCH_LIBRARY(s83, m) {
  (m).def("f(Tensor x) -> Tensor");
  (&m)->def("g(Tensor x) -> Tensor");
  std::ref(m).get().def("h(Tensor x) -> Tensor");
  m.torch::Library::def("i(Tensor x) -> Tensor");
  (*&m).impl("f", c10::DispatchKey::CPU, &same);
  m.torch::Library::impl("g", c10::DispatchKey::CPU, &same);
}

// a kind in a constant
constexpr auto s84_kind = torch::Library::FRAGMENT;
static torch::Library s84(s84_kind, "s84", std::nullopt, __FILE__, __LINE__);
static auto& s84_f = s84.def(std::string("f").append("(Tensor x) -> Tensor").c_str());
static auto& s84_g = s84.def("g", &same);
TORCH_LIBRARY(s85, m) { m.def(torch::schema("f(t x) -> t", c10::AliasAnalysisKind::CONSERVATIVE, true)); m.def("g(Tensor x) -> Tensor"); }
TORCH_LIBRARY(s86, m) { m.def(torch::jit::parseSchema("f(Tensor x) -> Tensor")); m.impl("f", c10::DispatchKey::CPU, &same); }
TORCH_LIBRARY(s87, m) { m.def(c10::str("f", "(Tensor x) -> Tensor").c_str(), &same); }

// what decides whether a statement runs
TORCH_LIBRARY(s88, m) try { m.def("f(Tensor x) -> Tensor"); m.impl("f", c10::DispatchKey::CPU, &same); } catch (...) { throw; }
TORCH_LIBRARY(s89, m) {
  m.def("f(Tensor x) -> Tensor");
  if (std::getenv("S89")) return;
  m.def("g(Tensor x) -> Tensor");
  m.impl("f", c10::DispatchKey::CPU, &same);
}
static std::once_flag s90_once;
TORCH_LIBRARY(s90, m) {
  std::call_once(s90_once, [&] { m.def("f(Tensor x) -> Tensor"); });
  do { m.def("g(Tensor x) -> Tensor"); } while (false);
  while (std::getenv("S90") == nullptr) { m.impl("f", c10::DispatchKey::CPU, &same); break; }
}
TORCH_LIBRARY(s91, m) {
  m.def("f(Tensor x) -> Tensor");
  std::getenv("S91") || (m.def("g(Tensor x) -> Tensor"), true);
  std::getenv("S91") ? m : m.impl("f", c10::DispatchKey::CPU, &same);
}
TORCH_LIBRARY(s92, m) {
  try { m.def("f(Tensor x) -> Tensor"); } catch (const c10::Error&) {}
  switch (sizeof(void*)) { case 8: m.def("g(Tensor x) -> Tensor"); break; default: m.def("h(Tensor x) -> Tensor"); }
}
// a library of another namespace inside of a block
TORCH_LIBRARY(s93, m) {
  static torch::Library inner(torch::Library::FRAGMENT, "s94", std::nullopt, __FILE__, __LINE__);
  inner.def("f(Tensor x) -> Tensor"), inner.impl("f", c10::DispatchKey::CPU, &same);
  m.def("f(Tensor x) -> Tensor");
}
template <c10::DispatchKey K> void s95_on(torch::Library& m) { m.impl("f", torch::dispatch(K, &same)); }
TORCH_LIBRARY(s95, m) { m.def("f(Tensor x) -> Tensor"); s95_on<c10::DispatchKey::CPU>(m); s95_on<c10::DispatchKey::Meta>(m); }
struct S96 { template <class L> static L& fill(L& l) { return l.def("f(Tensor x) -> Tensor", &same); } };
TORCH_LIBRARY(s96, m) { S96::fill(m).def("g(Tensor x) -> Tensor"); }
TORCH_LIBRARY(s97, m) { m.def("f(Tensor x) -> Tensor"); }
namespace { struct S97 { S97() { TORCH_LIBRARY_IMPL_static(); } static void TORCH_LIBRARY_IMPL_static() {
  static torch::Library l(torch::Library::IMPL, "s97", c10::DispatchKey::AutogradCPU, __FILE__, __LINE__); l.impl("f", torch::CppFunction::makeFallthrough()); } } s97; }
#define S98(ns, ...) TORCH_LIBRARY_FRAGMENT(ns, m) { for (auto s : {__VA_ARGS__}) m.def(s); }
S98(s98, "f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor")
TORCH_LIBRARY(s99, m) {
  auto add = std::bind_front([](torch::Library& l, const char* s) { l.def(s); }, std::ref(m));
  add("f(Tensor x) -> Tensor");
  decltype(auto) l = (m); l.impl("f", c10::DispatchKey::CPU, &same);
}
