// CUDA's stream-ordered allocator under the contract of allocators: what the library's own stand beside.
#pragma once

#include <cuda_runtime.h>

#include "sealed_pieces.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// A pool of bounded size, asked by one host thread in one stream.
class stream_ordered_under_test : public allocator_under_test {
public:
    stream_ordered_under_test() {
        cudaMemPoolProps wanted{};
        wanted.allocType = cudaMemAllocationTypePinned;
        wanted.location.type = cudaMemLocationTypeDevice;
        wanted.maxSize = max_pool_bytes;
        check(cudaMemPoolCreate(&pool_, &wanted));
        std::uint64_t kept = ~std::uint64_t{0};
        check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept));
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    ~stream_ordered_under_test() override {
        cudaStreamDestroy(stream_);
        cudaMemPoolDestroy(pool_);
    }

    void allocate(std::vector<given_piece>& pieces) override {
        for (given_piece& one : pieces) {
            void* address = nullptr;
            const cudaError_t made = cudaMallocFromPoolAsync(&address, one.bytes, pool_, stream_);
            if (made == cudaErrorMemoryAllocation) (void)cudaGetLastError();
            if (made != cudaErrorMemoryAllocation) check(made);
            one.address = made == cudaSuccess ? static_cast<std::byte*>(address) : nullptr;
            if (one.address != nullptr) live_.push_back(one);
        }
        check(cudaStreamSynchronize(stream_));
    }
    void deallocate(const std::vector<given_piece>& pieces) override {
        for (const given_piece& one : pieces) {
            check(cudaFreeAsync(one.address, stream_));
            std::erase_if(live_, [&](const given_piece& other) { return other.address == one.address; });
        }
        check(cudaStreamSynchronize(stream_));
    }
    void fill(const std::vector<given_piece>& pieces) override {
        for (const given_piece& one : pieces) {
            check(cudaMemcpy(one.address, contents(one).data(), one.bytes, cudaMemcpyHostToDevice));
        }
    }
    std::size_t broken(const std::vector<given_piece>& pieces) override {
        return static_cast<std::size_t>(std::count_if(pieces.begin(), pieces.end(), [&](const given_piece& one) {
            std::vector<std::uint8_t> found(one.bytes);
            check(cudaMemcpy(found.data(), one.address, one.bytes, cudaMemcpyDeviceToHost));
            return found != contents(one);
        }));
    }

    [[nodiscard]] std::size_t capacity_bytes() const override { return max_pool_bytes; }
    [[nodiscard]] std::size_t max_bytes() const override { return max_pool_bytes / 16; }
    [[nodiscard]] std::size_t taken_bytes(std::size_t bytes) const override { return (bytes + 511) / 512 * 512; }
    [[nodiscard]] std::size_t alignment_of(std::size_t) const override { return 256; }
    [[nodiscard]] double usable_part() const override { return 0.5; }
    [[nodiscard]] bool serves_to_the_last_byte() const override { return false; }
    /// The pool tells the bytes in use alone.
    [[nodiscard]] bool is_whole() const override { return used_bytes() == 0; }
    void expect_reported(const std::vector<given_piece>& pieces) const override {
        EXPECT_EQ(live_.size(), pieces.size());
        EXPECT_EQ(used_bytes() == 0, pieces.empty());
    }

private:
    static constexpr std::size_t max_pool_bytes = std::size_t{64} << 20;

    static void check(cudaError_t result) { ASSERT_EQ(result, cudaSuccess) << cudaGetErrorString(result); }
    static std::vector<std::uint8_t> contents(const given_piece& one) {
        std::vector<std::uint8_t> bytes(one.bytes);
        for (std::size_t i = 0; i < one.bytes; ++i) bytes[i] = sealed_byte(one.seal, i);
        return bytes;
    }
    [[nodiscard]] std::uint64_t used_bytes() const {
        std::uint64_t used = 0;
        check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used));
        return used;
    }

    cudaMemPool_t pool_ = nullptr;
    cudaStream_t stream_ = nullptr;
    std::vector<given_piece> live_;
};

/// One where there is a GPU, else none.
inline std::vector<allocator_family> stream_ordered_allocators() {
    if (lone_device().empty()) return {};
    return {{"stream_ordered",
             [](const std::string&, std::uint64_t) -> std::unique_ptr<allocator_under_test> {
                 return std::make_unique<stream_ordered_under_test>();
             },
             2}};
}

}  // namespace laneway::test
