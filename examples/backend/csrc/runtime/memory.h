#pragma once
// The memory of the devices. Each device has an arena of the host's memory. With PROTECT_DEVICE_MEMORY in the
// environment, as in the tests, only kernels can touch it.

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>

namespace acme {

// How much memory each device has.
constexpr size_t MEMORY_SIZE = size_t{4} << 30;

// Whether only kernels can touch the memory of the devices.
bool is_protected();

// Lets the code of a scope touch the memory of the devices. The generated code around each kernel makes one. Where the
// memory is protected, code outside kernels that touches it crashes, as with a device that has memory of its own.
class MemoryAccess {
 public:
  MemoryAccess();
  ~MemoryAccess();
  MemoryAccess(const MemoryAccess&) = delete;
  MemoryAccess& operator=(const MemoryAccess&) = delete;
};

// The device whose memory has an address, or -1.
c10::DeviceIndex device_with_address(const void* address) noexcept;

// The allocator of the devices. It allocates on the current device.
c10::DeviceAllocator* device_allocator();

// The allocator of pinned memory: memory of the host that devices copy from and to while the host does something else.
at::HostAllocator* pinned_allocator();
bool is_pinned(const void* address);

// Changes the size of a storage, and keeps what it has.
void resize_storage(c10::StorageImpl* storage, size_t size);

}  // namespace acme
