// Sorting with CUB: radix sort, and merge sort, of random keys as apps/recursion/merge_sort gets them.
#pragma once

#include <algorithm>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <random>
#include <vector>

#include "gpu.cuh"

namespace laneway::bench {

struct ascending {
    __device__ bool operator()(std::uint32_t a, std::uint32_t b) const { return a < b; }
};

enum class plain_sort_kind : std::uint32_t { radix, merge };

class plain_sort {
public:
    plain_sort(plain_sort_kind kind, std::uint64_t count)
        : kind_(kind), keys_(random_keys(count)), from_((count + 1) / 2), to_((count + 1) / 2),
          scratch_(scratch_words()) {
        check(cudaMemcpy(from_.data(), keys_.data(), count * sizeof(std::uint32_t), cudaMemcpyHostToDevice), "sort");
    }

    [[nodiscard]] std::string name() const {
        return std::string(kind_ == plain_sort_kind::radix ? "plain radix sort " : "plain merge sort ") +
               std::to_string(keys_.size());
    }
    /// Keys.
    [[nodiscard]] double count() const { return static_cast<double>(keys_.size()); }
    void run() { sort(scratch_.data(), scratch_bytes_); }
    /// Compares with the host's sort.
    void verify() const {
        std::vector<std::uint32_t> found(keys_.size()), expected = keys_;
        check(cudaMemcpy(found.data(), to_.data(), found.size() * sizeof(std::uint32_t), cudaMemcpyDeviceToHost),
              "sort");
        std::ranges::sort(expected);
        if (found != expected) throw device_fault(name() + ": keys are not in order");
    }

private:
    static std::vector<std::uint32_t> random_keys(std::uint64_t count) {
        std::mt19937 random(1);
        std::vector<std::uint32_t> keys(count);
        for (auto& key : keys) key = static_cast<std::uint32_t>(random());
        return keys;
    }
    /// CUB says how much it takes where it gets none.
    std::uint64_t scratch_words() {
        sort(nullptr, scratch_bytes_);
        return scratch_bytes_ / sizeof(std::uint64_t) + 1;
    }
    void sort(void* scratch, std::size_t& bytes) {
        const auto* const from = reinterpret_cast<const std::uint32_t*>(from_.data());
        auto* const to = reinterpret_cast<std::uint32_t*>(to_.data());
        check(kind_ == plain_sort_kind::radix
                  ? cub::DeviceRadixSort::SortKeys(scratch, bytes, from, to, keys_.size())
                  : cub::DeviceMergeSort::SortKeysCopy(scratch, bytes, from, to, keys_.size(), ascending{}),
              "sort");
    }

    plain_sort_kind kind_;
    std::vector<std::uint32_t> keys_;
    device_words from_, to_;
    std::size_t scratch_bytes_ = 0;
    device_words scratch_;
};

}  // namespace laneway::bench
