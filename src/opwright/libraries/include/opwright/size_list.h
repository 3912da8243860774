#pragma once
// Sizes that are computed for a call. A few of them need no memory of their own: to ask for it takes as long as all else.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace opwright {

class SizeList {
 public:
  SizeList() = default;
  SizeList(std::initializer_list<std::int64_t> items) : SizeList(items.begin(), items.end()) {}
  SizeList(const SizeList& other) : SizeList(other.begin(), other.end()) {}

  SizeList(const std::int64_t* first, const std::int64_t* last) {
    append(first, last);
  }

  SizeList& operator=(const SizeList& other) {
    if (this != &other) {
      count_ = 0;
      append(other.begin(), other.end());
    }
    return *this;
  }

  ~SizeList() {
    if (items_ != few_) {
      delete[] items_;
    }
  }

  void append(const std::int64_t* first, const std::int64_t* last) {
    const std::size_t count = count_ + static_cast<std::size_t>(last - first);
    if (count > most_) {
      grow(count);
    }
    std::copy(first, last, items_ + count_);
    count_ = count;
  }

  void push_back(std::int64_t item) {
    append(&item, &item + 1);
  }

  const std::int64_t* begin() const {
    return items_;
  }

  const std::int64_t* end() const {
    return items_ + count_;
  }

  std::size_t size() const {
    return count_;
  }

  bool empty() const {
    return count_ == 0;
  }

  const std::int64_t& operator[](std::size_t place) const {
    return items_[place];
  }

  std::int64_t& operator[](std::size_t place) {
    return items_[place];
  }

  bool operator==(const SizeList& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  void grow(std::size_t count) {
    most_ = std::max(count, 2 * most_);
    auto* const items = new std::int64_t[most_];
    std::copy(begin(), end(), items);
    if (items_ != few_) {
      delete[] items_;
    }
    items_ = items;
  }

  std::int64_t few_[8];
  std::int64_t* items_ = few_;
  std::size_t count_ = 0;
  std::size_t most_ = 8;
};

} // namespace opwright
