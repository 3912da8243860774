#pragma once
// Whether two tensors share memory, from where their elements are. It is exact for all sizes and strides.
//
// This header needs nothing of PyTorch: `overlap.h` and `stable_overlap.h` use it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace opwright::memory {

// The elements of a tensor: the address of the first one in bytes, and sizes and strides in elements.
struct Elements {
  std::intptr_t start;
  std::int64_t item_size;
  const std::int64_t* sizes;
  const std::int64_t* strides;
  std::size_t dims;
};

// What can be added to an address: a multiple of `stride` from `lowest` to `highest`.
struct Step {
  std::int64_t stride;
  std::int64_t lowest;
  std::int64_t highest;
};

// Sums of steps of different strides, with the largest stride first.
class Steps {
 public:
  // Adds a step, and says whether there was one with its stride, whose limits are now those of both.
  bool add(std::int64_t stride, std::int64_t lowest, std::int64_t highest) {
    if (lowest == 0 && highest == 0) {
      return false;
    }
    std::size_t place = 0;
    while (place < count_ && steps_[place].stride > stride) {
      ++place;
    }
    if (place < count_ && steps_[place].stride == stride) {
      steps_[place].lowest += lowest;
      steps_[place].highest += highest;
      return true;
    }
    if (count_ < steps_.size()) {
      std::copy_backward(steps_.begin() + place, steps_.begin() + count_, steps_.begin() + count_ + 1);
      steps_[place] = {stride, lowest, highest};
      ++count_;
    } else {
      is_full_ = true;
    }
    return false;
  }

  // Whether some sum is `distance`; with `excludes_none` one in which a step is not zero. Sums that take too long to
  // search count as found.
  bool reach(std::int64_t distance, bool excludes_none = false) const {
    int budget = 100000;
    return is_full_ || find(0, distance, excludes_none, budget);
  }

 private:
  bool find(std::size_t place, std::int64_t distance, bool excludes_none, int& budget) const {
    if (place == count_) {
      return distance == 0 && !excludes_none;
    }
    std::int64_t least = 0, most = 0;
    for (std::size_t rest = place + 1; rest < count_; ++rest) {
      least += steps_[rest].stride * steps_[rest].lowest;
      most += steps_[rest].stride * steps_[rest].highest;
    }
    const Step& step = steps_[place];
    std::int64_t first = step.lowest, last = step.highest;
    if (step.stride > 0) {
      first = std::max(first, -floor_divide(most - distance, step.stride));
      last = std::min(last, floor_divide(distance - least, step.stride));
    } else if (excludes_none) {
      // Steps that lead nowhere: one of them is enough.
      return find(place + 1, distance, false, budget);
    }
    for (std::int64_t times = first; times <= last; ++times) {
      if (--budget < 0) {
        return true;
      }
      if (find(place + 1, distance - times * step.stride, excludes_none && times == 0, budget)) {
        return true;
      }
      if (step.stride == 0) {
        break;
      }
    }
    return false;
  }

  static std::int64_t floor_divide(std::int64_t value, std::int64_t by) {
    return value / by - (value % by < 0 ? 1 : 0);
  }

  // Two tensors of 64 dimensions have no more different strides.
  std::array<Step, 130> steps_;
  std::size_t count_ = 0;
  bool is_full_ = false;
};

inline bool is_empty(const Elements& elements) {
  return std::find(elements.sizes, elements.sizes + elements.dims, 0) != elements.sizes + elements.dims;
}

// The bytes from the first one of the first element to the last one of the last element.
inline std::int64_t extent(const Elements& elements) {
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < elements.dims; ++dim) {
    last += (elements.sizes[dim] - 1) * elements.strides[dim];
  }
  return (last + 1) * elements.item_size;
}

// Whether the elements are in different columns of a matrix, as blocks of columns of one tensor are. Its rows are as far
// apart as the largest stride of the first tensor, and `distance` bytes are between the first elements.
inline bool in_different_columns(const Elements& first, const Elements& second, std::int64_t distance) {
  std::int64_t row = 0;
  for (std::size_t dim = 0; dim < first.dims; ++dim) {
    row = std::max(row, first.strides[dim] * first.item_size);
  }
  if (row == 0) {
    return false;
  }
  const auto width = [row](const Elements& elements) {
    std::int64_t bytes = elements.item_size;
    for (std::size_t dim = 0; dim < elements.dims; ++dim) {
      const std::int64_t stride = elements.strides[dim] * elements.item_size;
      bytes += stride == row ? 0 : (elements.sizes[dim] - 1) * stride;
    }
    return bytes;
  };
  const std::int64_t column = distance % row + (distance < 0 && distance % row != 0 ? row : 0);
  return width(first) <= column && column + width(second) <= row;
}

// Whether some byte belongs to an element of each.
inline bool overlap(const Elements& first, const Elements& second) {
  if (is_empty(first) || is_empty(second)) {
    return false;
  }
  const std::int64_t distance = second.start - first.start;
  if (distance >= extent(first) || -distance >= extent(second) || in_different_columns(first, second, distance)) {
    return false;
  }
  Steps steps;
  for (std::size_t dim = 0; dim < first.dims; ++dim) {
    steps.add(first.strides[dim] * first.item_size, 0, first.sizes[dim] - 1);
  }
  for (std::size_t dim = 0; dim < second.dims; ++dim) {
    steps.add(second.strides[dim] * second.item_size, 1 - second.sizes[dim], 0);
  }
  steps.add(1, 1 - second.item_size, first.item_size - 1);
  return steps.reach(distance);
}

// Whether each index of a dimension is further than all elements of the later dimensions, as in most tensors.
inline bool is_nested(const Elements& elements) {
  std::int64_t last = 0;
  for (std::size_t dim = elements.dims; dim-- > 0;) {
    if (elements.sizes[dim] > 1 && elements.strides[dim] <= last) {
      return false;
    }
    last += (elements.sizes[dim] - 1) * elements.strides[dim];
  }
  return true;
}

// Whether two elements of one tensor are at the same place.
inline bool overlaps_itself(const Elements& elements) {
  if (is_empty(elements) || is_nested(elements)) {
    return false;
  }
  Steps steps;
  for (std::size_t dim = 0; dim < elements.dims; ++dim) {
    if (steps.add(elements.strides[dim], 1 - elements.sizes[dim], elements.sizes[dim] - 1)) {
      // A step in one dimension and a step back in the other.
      return true;
    }
  }
  return steps.reach(0, /*excludes_none=*/true);
}

// Whether the elements of one are those of the other, in the same order.
inline bool is_same(const Elements& first, const Elements& second) {
  return first.start == second.start && first.item_size == second.item_size && first.dims == second.dims &&
      std::equal(first.sizes, first.sizes + first.dims, second.sizes) &&
      std::equal(first.strides, first.strides + first.dims, second.strides);
}

} // namespace opwright::memory
