#pragma once
// Kernels for operators that another library defines, with nothing but PyTorch's stable C++ API. It reads no schemas, so
// the Python package of the library compares those of the process before the first call.

#include <torch/csrc/stable/library.h>
#include <torch/headeronly/macros/Export.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace opwright {
namespace {

// Writes what is wrong with the schema of that number, and gives the length of the text.
using SchemaCheck = std::int64_t (*)(std::int64_t number, char* text, std::int64_t size);

std::atomic<SchemaCheck> schema_check{nullptr};

void expect_schema(std::int64_t number, const char* library) {
  const SchemaCheck check = schema_check.load(std::memory_order_acquire);
  if (check == nullptr) {
    throw std::runtime_error(
        std::string("`") + library + "` has kernels for operators of another library: import it before their first call");
  }
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(check(number, text.data(), static_cast<std::int64_t>(text.size()))));
  if (!text.empty()) {
    throw std::runtime_error(text);
  }
}

// What is registered for a boxed kernel. `Library` has the name of the library.
template <auto Boxed, std::int64_t Number, class Library>
struct Implementation {
  static void boxed(StableIValue* stack, std::uint64_t arguments, std::uint64_t results) {
    static std::atomic<bool> fits{false};
    if (!fits.load(std::memory_order_acquire)) {
      expect_schema(Number, Library::name);
      fits.store(true, std::memory_order_release);
    }
    Boxed(stack, arguments, results);
  }
};

} // namespace
} // namespace opwright
