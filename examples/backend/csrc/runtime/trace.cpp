// What the profilers of PyTorch ask a device: its work, and its times.

#include "trace.h"

// PyTorch's header declares nothing without it.
#define USE_KINETO
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <libkineto.h>
#include <time_since_epoch.h>

#include <atomic>
#include <mutex>

#include "device.h"

namespace acme {
namespace {

// The work of the devices while `torch.profiler` runs with `ProfilerActivity.PrivateUse1`.
class Session;
std::mutex session_mutex;
std::atomic<Session*> session{nullptr};
thread_local std::vector<uint64_t> calls_of_thread;

class Session final : public libkineto::IActivityProfilerSession {
 public:
  ~Session() override {
    stop();
  }

  void start() override {
    session = this;
  }
  // Work that ends later is not recorded.
  void stop() override {
    const std::lock_guard<std::mutex> lock(session_mutex);
    if (session == this) {
      session = nullptr;
    }
  }

  // The call of the operator that started the work is the last one of the thread.
  void pushCorrelationId(uint64_t id) override {
    calls_of_thread.push_back(id);
  }
  void popCorrelationId() override {
    if (!calls_of_thread.empty()) {
      calls_of_thread.pop_back();
    }
  }

  void record(const char* name, std::chrono::system_clock::time_point start) {
    activities_->emplace_activity(activities_->span, libkineto::ActivityType::CONCURRENT_KERNEL, name);
    auto& activity = *activities_->activities.back();
    activity.startTime = libkineto::timeSinceEpoch(start);
    activity.endTime = libkineto::timeSinceEpoch(std::chrono::system_clock::now());
    activity.device = current_device();
    activity.threadId = libkineto::threadId();
    activity.id = calls_of_thread.empty() ? 0 : static_cast<int32_t>(calls_of_thread.back());
  }

  void processTrace(libkineto::ActivityLogger& logger) override {
    for (const auto& activity : activities_->activities) {
      activity->log(logger);
    }
  }
  void processTrace(
      libkineto::ActivityLogger& logger,
      libkineto::getLinkedActivityCallback linked,
      int64_t /*start*/,
      int64_t /*end*/) override {
    for (const auto& activity : activities_->activities) {
      activity->linked = linked(activity->id);
    }
    processTrace(logger);
  }

  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return std::move(activities_);
  }
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    return nullptr;
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    return {};
  }
  std::vector<std::string> errors() override {
    return {};
  }

 private:
  std::unique_ptr<libkineto::CpuTraceBuffer> activities_ = std::make_unique<libkineto::CpuTraceBuffer>();
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override {
    return name_;
  }
  const std::set<libkineto::ActivityType>& availableActivities() const override {
    return types_;
  }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<libkineto::ActivityType>& types,
      const libkineto::Config& /*config*/) override {
    return types.count(*types_.begin()) == 0 ? nullptr : std::make_unique<Session>();
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t /*time*/,
      int64_t /*duration*/,
      const std::set<libkineto::ActivityType>& types,
      const libkineto::Config& config) override {
    return configure(types, config);
  }

 private:
  std::string name_{"acme"};
  std::set<libkineto::ActivityType> types_{libkineto::ActivityType::CONCURRENT_KERNEL};
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

// Times for `torch.autograd.profiler.profile(use_device="acme", use_kineto=False)`.
using Clock = std::chrono::steady_clock;
using torch::profiler::impl::ProfilerVoidEventStub;

class Stubs final : public torch::profiler::impl::ProfilerStubs {
 public:
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* time) const override {
    if (device != nullptr) {
      *device = current_device();
    }
    const auto now = Clock::now();
    *event = std::make_shared<Clock::time_point>(now);
    if (time != nullptr) {
      *time = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    }
  }

  float elapsed(const ProfilerVoidEventStub* start, const ProfilerVoidEventStub* end) const override {
    const auto time = *static_cast<Clock::time_point*>(end->get()) - *static_cast<Clock::time_point*>(start->get());
    return std::chrono::duration<float, std::micro>(time).count();
  }

  bool enabled() const override {
    return true;
  }
  void onEachDevice(std::function<void(int)> function) const override {
    for (int device = 0; device < DEVICE_COUNT; ++device) {
      function(device);
    }
  }
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}
  void synchronize() const override {}
};

[[maybe_unused]] const bool is_registered = [] {
  torch::profiler::impl::registerPrivateUse1Methods(new Stubs());
  return true;
}();

// Times of the steps of `DistributedDataParallel`. Those of the host are those of the device, which works in its calls.
class StepTimer final : public c10d::Timer {
 public:
  explicit StepTimer(c10::Device /*device*/) {}

  std::optional<int64_t> measureDifference(Event start, Event end) override {
    const auto from = getTimestamp(start);
    const auto to = getTimestamp(end);
    return from && to && *from <= *to ? std::make_optional(*to - *from) : std::nullopt;
  }
};

using c10d::RegistererTimerRegistry;
using c10d::TimerRegistry;
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kPrivateUse1, StepTimer);

}  // namespace

TraceRange::TraceRange(const char* name) : range_(at::RecordScope::USER_SCOPE), name_(name) {
  if (range_.isActive()) {
    range_.before(name);
  }
  if (session != nullptr) {
    start_ = std::chrono::system_clock::now();
  }
}

TraceRange::~TraceRange() {
  if (session != nullptr && start_ != std::chrono::system_clock::time_point()) {
    const std::lock_guard<std::mutex> lock(session_mutex);
    if (session != nullptr) {
      session.load()->record(name_, start_);
    }
  }
}

}  // namespace acme
