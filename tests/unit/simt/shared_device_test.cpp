// A device of a job of several processes: one memory, which its owner writes and all read.
#include "laneway/simt/shared_device.hpp"

#include "unit/forked_processes.hpp"

namespace laneway::test {

TEST(shared_device_test, AllSeeWhatTheOwnerWrites) {
    in_processes_that_pass(3, [](const std::shared_ptr<bootstrap>& job) {
        const auto group = std::make_shared<process_group>(job);
        for (int owner = 0; owner < 3; ++owner) {
            shared_device device({device_kind::cpu, 0}, owner, owner, {{device_kind::cpu, 0}}, group);
            EXPECT_EQ(device.name(), "cpu:0 of process " + std::to_string(owner));
            void* const memory = device.allocate(8);
            const std::uint64_t mine = 100 + static_cast<std::uint64_t>(job->rank());
            std::uint64_t seen = 1;
            device.copy_out(&seen, memory, 8);
            EXPECT_EQ(seen, 0u);
            device.copy_in(memory, &mine, 8);  // what counts is the owner's
            device.copy_out(&seen, memory, 8);
            EXPECT_EQ(seen, 100u + static_cast<std::uint64_t>(owner));
            device.fill(memory, 0xff, 8);
            device.copy_out(&seen, memory, 8);
            EXPECT_EQ(seen, ~std::uint64_t{0});
            device.release(memory, 8);
        }
    });
}

TEST(shared_device_test, EachGpuIsOfOneProcess) {
    const device_id first{device_kind::cuda, 0}, second{device_kind::cuda, 1}, cpu{device_kind::cpu, 0};
    refuse_unshareable({first, second}, {0, 1});
    refuse_unshareable({cpu, cpu}, {0, 1});  // each counts its own
    EXPECT_THROW(refuse_unshareable({first, cpu}, {0, 1}), usage_error);
    EXPECT_THROW(refuse_unshareable({{device_kind::checked, 0}}, {0}), usage_error);
    try {
        refuse_unshareable({second, first, second}, {0, 0, 1});
        FAIL() << "not refused";
    } catch (const usage_error& refused) {
        EXPECT_EQ(std::string(refused.what()), "processes 0 and 1 both name cuda:1: each has GPUs of its own");
    }
}

TEST(shared_device_test, WithoutMemoryAllAreTold) {
    in_processes_that_pass(2, [](const std::shared_ptr<bootstrap>& job) {
        const auto group = std::make_shared<process_group>(job);
        shared_device device({device_kind::cpu, 0}, 1, 1, {{device_kind::cpu, 0}}, group);
        EXPECT_THROW((void)device.allocate(std::size_t{1} << 60), system_error);
        device.release(device.allocate(64), 64);  // the job goes on
    });
}

}  // namespace laneway::test
