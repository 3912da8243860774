#include "memory.h"

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "device.h"

namespace acme {
namespace {

using c10::CachingDeviceAllocator::DeviceStats;

// Allocations begin at multiples of this, as those of CUDA devices do.
constexpr size_t ALIGNMENT = 512;

// The host's pages: large ones, where it has them, because protecting memory costs as much as it has pages.
constexpr size_t PAGE_SIZE = size_t{2} << 20;

size_t round_up(size_t size, size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// Statistics that PyTorch asks for by kind of memory pool. There is only one pool.
c10::CachingAllocator::Stat& total(c10::CachingAllocator::StatArray& statistics) {
  return statistics[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}

// The memory of a device: addresses that are reserved once, and blocks in them.
class Arena {
 public:
  Arena() {
    const int access = is_protected() ? PROT_NONE : PROT_READ | PROT_WRITE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const address = mmap(nullptr, MEMORY_SIZE + PAGE_SIZE, access, flags, -1, 0);
    TORCH_CHECK(address != MAP_FAILED, "acme cannot reserve ", MEMORY_SIZE, " bytes of addresses");
    begin_ = reinterpret_cast<char*>(round_up(reinterpret_cast<size_t>(address), PAGE_SIZE));
#ifdef MADV_HUGEPAGE
    madvise(begin_, MEMORY_SIZE, MADV_HUGEPAGE);
#endif
    free_[0] = MEMORY_SIZE;
  }

  bool has(const void* address) const noexcept {
    return address >= begin_ && address < begin_ + MEMORY_SIZE;
  }

  // Lets the host touch what is in use, and what is allocated before it is closed again.
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    extend_open(used_end());
  }

  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    TORCH_INTERNAL_ASSERT(open_ == 0 || mprotect(begin_, open_, PROT_NONE) == 0);
    is_open_ = false;
    open_ = 0;
  }

  // The first free block that is large enough.
  void* allocate(size_t size, c10::DeviceIndex device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t rounded = round_up(size, ALIGNMENT);
    auto block = free_.begin();
    while (block != free_.end() && block->second < rounded) {
      ++block;
    }
    if (block == free_.end()) {
      ++stats_.num_ooms;
      TORCH_CHECK_WITH(
          OutOfMemoryError, false, "acme:", int{device}, " is out of memory: it has ", MEMORY_SIZE,
          " bytes, of which ", total(stats_.allocated_bytes).current, " are in use, and cannot allocate ", size,
          " more");
    }
    const auto [offset, length] = *block;
    free_.erase(block);
    if (length > rounded) {
      free_[offset + rounded] = length - rounded;
    }
    used_[offset] = Block{size, rounded};
    if (is_open_) {
      extend_open(offset + rounded);
    }
    record_allocation(size, rounded);
    reserve(std::max(reserved_, round_up(offset + rounded, PAGE_SIZE)));
    report(begin_ + offset, static_cast<int64_t>(rounded), device);
    return begin_ + offset;
  }

  void release(void* address, c10::DeviceIndex device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto block = used_.find(static_cast<size_t>(static_cast<char*>(address) - begin_));
    TORCH_INTERNAL_ASSERT(block != used_.end());
    size_t offset = block->first;
    const auto [size, length] = block->second;
    used_.erase(block);
    record_release(size, length);
    add_free_block(offset, length);
    report(address, -static_cast<int64_t>(length), device);
  }

  // Gives the pages after the last block back to the host.
  void empty_cache() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t end = round_up(used_end(), PAGE_SIZE);
    if (end < reserved_) {
      madvise(begin_ + end, MEMORY_SIZE - end, MADV_DONTNEED);
      reserve(end);
    }
  }

  DeviceStats stats() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }

  // Calls a function for each of the statistics.
  template <typename Function>
  void update_stats(Function function) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto* statistics : {&stats_.allocation, &stats_.active, &stats_.allocated_bytes, &stats_.active_bytes,
                             &stats_.requested_bytes, &stats_.reserved_bytes, &stats_.segment}) {
      function(total(*statistics));
    }
  }

 private:
  struct Block {
    size_t size;
    size_t length;
  };

  // Where the last block that is in use ends.
  size_t used_end() const {
    return used_.empty() ? 0 : used_.rbegin()->first + used_.rbegin()->second.length;
  }

  void extend_open(size_t end) {
    if (end > open_) {
      end = round_up(end, PAGE_SIZE);
      TORCH_INTERNAL_ASSERT(mprotect(begin_ + open_, end - open_, PROT_READ | PROT_WRITE) == 0);
      open_ = end;
    }
  }

  // Adds a free block, merged with the free blocks before and after it.
  void add_free_block(size_t offset, size_t length) {
    auto after = free_.lower_bound(offset);
    if (after != free_.begin()) {
      if (const auto before = std::prev(after); before->first + before->second == offset) {
        offset = before->first;
        length += before->second;
        free_.erase(before);
      }
    }
    if (after != free_.end() && after->first == offset + length) {
      length += after->second;
      free_.erase(after);
    }
    free_[offset] = length;
  }

  void record_allocation(size_t size, size_t length) {
    ++stats_.num_device_alloc;
    total(stats_.allocation).increase(1);
    total(stats_.active).increase(1);
    total(stats_.requested_bytes).increase(size);
    total(stats_.allocated_bytes).increase(length);
    total(stats_.active_bytes).increase(length);
  }

  void record_release(size_t size, size_t length) {
    ++stats_.num_device_free;
    total(stats_.allocation).decrease(1);
    total(stats_.active).decrease(1);
    total(stats_.requested_bytes).decrease(size);
    total(stats_.allocated_bytes).decrease(length);
    total(stats_.active_bytes).decrease(length);
  }

  void reserve(size_t size) {
    auto& bytes = total(stats_.reserved_bytes);
    size > reserved_ ? bytes.increase(size - reserved_) : bytes.decrease(reserved_ - size);
    reserved_ = size;
  }

  // What `torch.profiler` shows with `profile_memory=True`.
  void report(void* address, int64_t change, c10::DeviceIndex device) {
    c10::reportMemoryUsageToProfiler(
        address, change, total(stats_.allocated_bytes).current, reserved_,
        c10::Device(c10::DeviceType::PrivateUse1, device));
  }

  char* begin_ = nullptr;
  std::mutex mutex_;
  std::map<size_t, size_t> free_;  // length by offset
  std::map<size_t, Block> used_;   // by offset
  size_t reserved_ = 0;
  bool is_open_ = false;
  size_t open_ = 0;  // how much of it, from its beginning
  DeviceStats stats_;
};

// The arenas outlive all tensors, even those that are freed when the process ends.
std::array<Arena, DEVICE_COUNT>& arenas() {
  static auto* const arenas = new std::array<Arena, DEVICE_COUNT>();
  return *arenas;
}

Arena& arena(c10::DeviceIndex device) {
  check_device(device);
  return arenas()[static_cast<size_t>(device)];
}

void release(void* address) {
  if (const auto device = device_with_address(address); device >= 0) {
    arena(device).release(address, device);
  }
}

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    const auto device = current_device();
    void* const address = size == 0 ? nullptr : arena(device).allocate(size, device);
    return {address, address, &release, c10::Device(c10::DeviceType::PrivateUse1, device)};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return &release;
  }

  void copy_data(void* target, const void* source, std::size_t size) const override {
    const MemoryAccess access;
    default_copy_data(target, source, size);
  }

  bool initialized() override {
    return true;
  }

  void emptyCache(c10::MempoolId_t /*pool*/) override {
    for (auto& arena : arenas()) {
      arena.empty_cache();
    }
  }

  // Streams finish their work before they return, so that no memory is in use when it is freed.
  void recordStream(const c10::DataPtr& /*data*/, c10::Stream /*stream*/) override {}

  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    return arena(device).stats();
  }

  void resetAccumulatedStats(c10::DeviceIndex device) override {
    arena(device).update_stats([](auto& statistic) { statistic.reset_accumulated(); });
  }

  void resetPeakStats(c10::DeviceIndex device) override {
    arena(device).update_stats([](auto& statistic) { statistic.reset_peak(); });
  }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    auto stats = arena(device).stats();
    return {MEMORY_SIZE - static_cast<size_t>(total(stats.allocated_bytes).current), MEMORY_SIZE};
  }
};

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    if (size == 0) {
      return {nullptr, c10::DeviceType::CPU};
    }
    void* const address = std::aligned_alloc(ALIGNMENT, round_up(size, ALIGNMENT));
    TORCH_CHECK(address != nullptr, "acme cannot allocate ", size, " bytes of pinned memory");
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_[static_cast<char*>(address)] = size;
    return {address, address, &PinnedAllocator::release, c10::DeviceType::CPU};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return &PinnedAllocator::release;
  }

  void copy_data(void* target, const void* source, std::size_t size) const override {
    default_copy_data(target, source, size);
  }

  bool has(const void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto* bytes = static_cast<const char*>(address);
    const auto after = sizes_.upper_bound(const_cast<char*>(bytes));
    return after != sizes_.begin() && bytes < std::prev(after)->first + std::prev(after)->second;
  }

  bool record_event(void* /*address*/, void* /*context*/, c10::Stream /*stream*/) override {
    return true;
  }
  void empty_cache() override {}
  at::HostStats get_stats() override {
    return {};
  }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}

 private:
  static void release(void* address);

  std::mutex mutex_;
  std::map<char*, size_t> sizes_;
};

PinnedAllocator& pinned_memory() {
  static auto* const allocator = new PinnedAllocator();
  return *allocator;
}

void PinnedAllocator::release(void* address) {
  auto& allocator = pinned_memory();
  const std::lock_guard<std::mutex> lock(allocator.mutex_);
  allocator.sizes_.erase(static_cast<char*>(address));
  std::free(address);
}

std::mutex access_mutex;
int access_count = 0;

const c10::AllocatorRegisterer<c10::DeviceType::PrivateUse1> device_registration(device_allocator());
const at::HostAllocatorRegistry<c10::DeviceType::PrivateUse1> pinned_registration(pinned_allocator());

}  // namespace

bool is_protected() {
  static const bool is_asked = std::getenv("PROTECT_DEVICE_MEMORY") != nullptr;
  return is_asked;
}

MemoryAccess::MemoryAccess() {
  if (!is_protected()) {
    return;
  }
  const std::lock_guard<std::mutex> lock(access_mutex);
  if (access_count++ == 0) {
    for (auto& arena : arenas()) {
      arena.open();
    }
  }
}

MemoryAccess::~MemoryAccess() {
  if (!is_protected()) {
    return;
  }
  const std::lock_guard<std::mutex> lock(access_mutex);
  if (--access_count == 0) {
    for (auto& arena : arenas()) {
      arena.close();
    }
  }
}

c10::DeviceIndex device_with_address(const void* address) noexcept {
  for (c10::DeviceIndex device = 0; device < DEVICE_COUNT; ++device) {
    if (arenas()[static_cast<size_t>(device)].has(address)) {
      return device;
    }
  }
  return -1;
}

c10::DeviceAllocator* device_allocator() {
  static auto* const allocator = new Allocator();
  return allocator;
}

at::HostAllocator* pinned_allocator() {
  return &pinned_memory();
}

bool is_pinned(const void* address) {
  return pinned_memory().has(address);
}

void resize_storage(c10::StorageImpl* storage, size_t size) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  const DeviceScope scope(storage->device().index());
  c10::DataPtr data = device_allocator()->allocate(size);
  if (const size_t kept = std::min(size, storage->nbytes()); kept > 0) {
    device_allocator()->copy_data(data.get(), storage->data(), kept);
  }
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(size);
}

}  // namespace acme
