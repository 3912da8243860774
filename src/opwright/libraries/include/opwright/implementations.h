#pragma once
// Several kernels of an operator for one dispatch key, of which generated code chooses one in each call.
//
// Users force one for debugging: the environment variable OPWRIGHT_IMPLEMENTATION says so when the library is loaded
// (`acme::scale=slow,acme::norm=fast`), and Python's context manager `implementation` while it is active.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace opwright {

// The names of the kernels of an operator for one dispatch key, and the one that is forced.
class Implementations {
 public:
  // What `forced` returns if the arguments of each call decide.
  static constexpr int64_t none = -1;

  // `place` is the operator, the overload and the dispatch key, such as `scale.out/CPU`.
  Implementations(
      std::vector<Implementations*>& all,
      std::string_view operator_name,
      const char* place,
      std::initializer_list<const char*> names)
      : place_(place), names_(names), forced_(from_environment(operator_name)) {
    all.push_back(this);
  }

  int64_t forced() const noexcept {
    return forced_.load(std::memory_order_relaxed);
  }

  // An error for a kernel that this build does not have.
  [[noreturn]] void refuse(int64_t forced) const {
    throw std::runtime_error(
        std::string("this build lacks the implementation `") + names_.at(forced) + "` of `" + std::string(place_) + "`");
  }

  // Forces the kernel with a number for the place of that name, and returns the number that was forced before.
  static int64_t force(const std::vector<Implementations*>& all, std::string_view place, int64_t number) {
    for (Implementations* implementations : all) {
      if (implementations->place_ == place) {
        return implementations->forced_.exchange(number);
      }
    }
    throw std::runtime_error("no implementations for `" + std::string(place) + "`");
  }

 private:
  // The number of the kernel that the environment names for the operator.
  int64_t from_environment(std::string_view operator_name) const {
    const char* value = std::getenv("OPWRIGHT_IMPLEMENTATION");
    std::string_view rest = value == nullptr ? "" : value;
    while (!rest.empty()) {
      const size_t end = rest.find(',');
      const std::string_view item = rest.substr(0, end);
      const size_t equals = item.find('=');
      if (equals != std::string_view::npos && item.substr(0, equals) == operator_name) {
        for (size_t number = 0; number < names_.size(); ++number) {
          if (item.substr(equals + 1) == names_[number]) {
            return static_cast<int64_t>(number);
          }
        }
      }
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return none;
  }

  std::string_view place_;
  std::vector<const char*> names_;
  std::atomic<int64_t> forced_;
};

} // namespace opwright
