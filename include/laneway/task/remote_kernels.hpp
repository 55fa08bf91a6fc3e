// Kernels of the user's own that remote queues launch: the host's side. A thread for each PE calls them one after the
// other, in the order in which lanes have taken the requests.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "laneway/queue/work_group_queue_memory.hpp"
#include "laneway/simt/machine.hpp"
#include "laneway/task/remote_launches_ref.hpp"

namespace laneway {

/// What a kernel of the user's is launched with. Valid while it runs.
struct launch_request {
    int pe = 0;       ///< whose thread this is
    int source = -1;  ///< the PE that has posted it; -1: a host thread
    device_id device;
    const remote_bytes* arguments = nullptr;
    std::byte* landed = nullptr;     ///< payload in memory of the device, or null
    std::uint64_t landed_bytes = 0;  ///< of it

    /// The arguments. Throws usage_error where they were of another size.
    template <class T>
    [[nodiscard]] T as() const {
        static_assert(trivially_copyable<T> && sizeof(T) <= remote_bytes::most);
        refuse_size(sizeof(T));
        T made;
        std::memcpy(&made, arguments->data, sizeof(T));
        return made;
    }

private:
    void refuse_size(std::size_t wanted) const;
};

/// The launch threads of all PEs.
class remote_kernels final : public host_service {
public:
    using function = std::function<void(const launch_request&)>;

    /// Each PE has room for `slots` launches that have not returned.
    remote_kernels(machine& machine, std::uint32_t slots);

    std::uint32_t add(std::string name, function called);
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(kernels_.size()); }
    [[nodiscard]] const std::string& name(std::uint32_t number) const { return kernels_[number].name; }
    [[nodiscard]] remote_launches_ref ref(int pe) const;
    /// Kernels that have returned since the last begin(): a session opens the threads again and again.
    [[nodiscard]] std::uint64_t launched() const;
    void begin();
    /// Whether this thread is in the function of a kernel: open work, which must not wait for the session's.
    [[nodiscard]] static bool runs_here();

    [[nodiscard]] int threads() const override { return static_cast<int>(parts_.size()); }
    [[nodiscard]] std::uint64_t buffer_bytes(int) const override { return bytes_; }
    void open() override;
    bool turn(host_context& ctx, int thread) override;
    [[nodiscard]] std::string account() const override;
    [[nodiscard]] std::string beside() const override;
    void audit() const override {}  // a launch that is lost is a command that is never done

private:
    struct kernel {
        std::string name;
        function called;
    };
    /// A launch as messages name it.
    struct launched_one {
        std::uint32_t kernel = 0;
        std::uint64_t number = 0;  ///< of the PE's, in this run or session
        int source = 0;
        bool returned = false;
    };
    struct part {
        part(const std::shared_ptr<device>& device, const work_group_queue_shape& shape);

        device_id id;
        work_group_queue<remote_launch> queue;
        buffer<pending_launch> pending;
        buffer<std::uint64_t> told;
        buffer<std::uint32_t> taking;
        std::unique_ptr<work_group_receiver<remote_launch>> from;
        std::atomic<std::uint64_t> returned = 0;
        mutable std::mutex mutex;
        std::optional<launched_one> latest;            ///< that has not thrown; under the mutex
        std::atomic<std::uint32_t> slowest = nothing;  ///< of the run, among those that have returned
        std::atomic<double> slowest_seconds = 0;

        void set(const std::optional<launched_one>& launch);
        [[nodiscard]] std::optional<launched_one> last() const;
    };
    static constexpr std::uint32_t nothing = ~std::uint32_t{0};

    void call(part& mine, int pe, const remote_launch& launch) const;
    [[nodiscard]] std::string title(std::uint32_t number) const;
    [[nodiscard]] static std::string origin(const launched_one& launch);
    [[noreturn]] void tell(int pe, const launched_one& launch) const;

    std::uint64_t bytes_;
    std::vector<kernel> kernels_;
    std::vector<std::unique_ptr<part>> parts_;
    std::vector<bool> own_;  ///< by PE: whether this process runs it
};

}  // namespace laneway
