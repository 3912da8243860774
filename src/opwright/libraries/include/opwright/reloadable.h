// Registrations of a library that a process can take back, and make again. `opwright.inline` includes this header
// before every source: the macros TORCH_LIBRARY and STABLE_TORCH_LIBRARY then use the classes below.

#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace opwright_reloadable {

struct Registration {
  std::function<std::shared_ptr<void>()> make;
  std::shared_ptr<void> made;
};

// Those of this shared object alone, in the order of their definition.
__attribute__((visibility("hidden"))) inline std::vector<Registration>& registrations() {
  static std::vector<Registration> all;
  return all;
}

// What a library object was made for: its kind, namespace, and dispatch key.
template <typename Library, typename Kind, typename Key>
struct Init {
  Init(Kind kind, void (*fill)(Library&), const char* ns, Key key, const char* file, uint32_t line) {
    registrations().push_back({[=]() -> std::shared_ptr<void> {
      auto library = std::make_shared<Library>(kind, ns, key, file, line);
      fill(*library);
      return library;
    }, nullptr});
  }
};

}  // namespace opwright_reloadable

// Makes all registrations, or takes them back. Gives what went wrong, and null if nothing did.
extern "C" __attribute__((visibility("default"), used)) inline const char* opwright_register(int wanted) {
  auto& all = opwright_reloadable::registrations();
  const char* fault = nullptr;
  try {
    for (auto& registration : all) {
      if (wanted && !registration.made) {
        registration.made = registration.make();
      }
    }
  } catch (const std::exception& error) {
    fault = strdup(error.what());
  }
  if (!wanted || fault) {
    for (auto last = all.rbegin(); last != all.rend(); ++last) {
      last->made.reset();
    }
  }
  return fault;
}

#ifdef TORCH_LIBRARY
namespace torch::detail {
using ReloadableInit =
    opwright_reloadable::Init<torch::Library, torch::Library::Kind, std::optional<c10::DispatchKey>>;
}
#define TorchLibraryInit ReloadableInit
#endif

#ifdef STABLE_TORCH_LIBRARY
namespace torch::stable::detail {
using ReloadableStableInit = opwright_reloadable::Init<StableLibrary, StableLibrary::Kind, const char*>;
}
#define StableTorchLibraryInit ReloadableStableInit
#endif
