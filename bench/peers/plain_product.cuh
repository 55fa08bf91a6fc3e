// The product of square matrices of integers modulo 2^32, as apps/recursion/strassen makes it, by its definition: tiles
// in shared memory, of which each thread keeps 8 by 8 sums in registers; no tensor cores.
#pragma once

#include <random>
#include <vector>

#include "gpu.cuh"

namespace laneway::bench {

struct plain_matrices {
    const std::uint32_t *a, *b;
    std::uint32_t* c;
    std::uint32_t n;  ///< rows, a multiple of 128
};

/// A block makes a tile of the product, c = a b, from parts of `Depth` columns of a and rows of b, which threads load
/// four elements at a time.
template <int Tile, int Depth, int Sums>
__global__ void __launch_bounds__((Tile / Sums) * (Tile / Sums), 2) multiply_tiles(plain_matrices all) {
    constexpr int across = Tile / Sums, threads = across * across;
    constexpr int fours_a = Depth / 4, fours_b = Tile / 4;       // of a row
    alignas(16) __shared__ std::uint32_t left[Depth][Tile + 4];  // by columns of a, which are stored by rows
    alignas(16) __shared__ std::uint32_t right[Depth][Tile];
    const int me = static_cast<int>(threadIdx.x), y = me / across * Sums, x = me % across;
    const std::size_t n = all.n, row = std::size_t{blockIdx.y} * Tile, column = std::size_t{blockIdx.x} * Tile;
    const std::uint32_t* a = all.a + (row + me / fours_a) * n + me % fours_a * 4;
    const std::uint32_t* b = all.b + me / fours_b * n + column + me % fours_b * 4;
    std::uint32_t sums[Sums][Sums] = {};
    for (std::size_t k = 0; k < n; k += Depth, a += Depth, b += Depth * n) {
        for (int r = 0; r < Tile; r += threads / fours_a) {
            const uint4 four = *reinterpret_cast<const uint4*>(a + r * n);
            const std::uint32_t elements[] = {four.x, four.y, four.z, four.w};
            for (int i = 0; i < 4; ++i) left[me % fours_a * 4 + i][me / fours_a + r] = elements[i];
        }
        for (int r = 0; r < Depth; r += threads / fours_b) {
            auto& to = *reinterpret_cast<uint4*>(&right[me / fours_b + r][me % fours_b * 4]);
            to = *reinterpret_cast<const uint4*>(b + r * n);
        }
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < Depth; ++d) {
            std::uint32_t of_left[Sums], of_right[Sums];
            for (int i = 0; i < Sums; ++i) of_left[i] = left[d][y + i];
            for (int j = 0; j < Sums; ++j) of_right[j] = right[d][x + j * across];
            for (int i = 0; i < Sums; ++i) {
                for (int j = 0; j < Sums; ++j) sums[i][j] += of_left[i] * of_right[j];
            }
        }
        __syncthreads();
    }
    std::uint32_t* c = all.c + (row + y) * n + column + x;
    for (int i = 0; i < Sums; ++i, c += n) {
        for (int j = 0; j < Sums; ++j) c[j * across] = sums[i][j];
    }
}

class plain_product {
public:
    static constexpr int tile = 128;

    /// `n`: rows, a multiple of `tile`.
    explicit plain_product(std::uint32_t n)
        : n_(n), a_(random_elements(n, 1)),
          b_(random_elements(n, 2)), words_{device_words(words()), device_words(words()), device_words(words())} {
        check(cudaMemcpy(words_[0].data(), a_.data(), bytes(), cudaMemcpyHostToDevice), "product");
        check(cudaMemcpy(words_[1].data(), b_.data(), bytes(), cudaMemcpyHostToDevice), "product");
    }

    [[nodiscard]] std::string name() const { return "plain product " + std::to_string(n_); }
    /// Multiplications of the definition, of which Strassen's method makes fewer.
    [[nodiscard]] double count() const { return static_cast<double>(n_) * n_ * n_; }
    void run() {
        const dim3 blocks(n_ / tile, n_ / tile);
        multiply_tiles<tile, depth, sums>
            <<<blocks, (tile / sums) * (tile / sums)>>>({matrix(0), matrix(1), matrix(2), n_});
        check(cudaGetLastError(), "product");
    }
    /// Compares elements of all tiles' rows and columns with the definition.
    void verify() const {
        std::vector<std::uint32_t> c(a_.size());
        check(cudaMemcpy(c.data(), matrix(2), bytes(), cudaMemcpyDeviceToHost), "product");
        for (std::size_t i = 0; i < n_; ++i) {
            const std::size_t j = i * 2654435761u % n_;
            std::uint32_t sum = 0;
            for (std::size_t k = 0; k < n_; ++k) sum += a_[i * n_ + k] * b_[k * n_ + j];
            if (c[i * n_ + j] == sum) continue;
            throw device_fault(name() + ": the element in row " + std::to_string(i) + " and column " +
                               std::to_string(j) + " is wrong");
        }
    }

private:
    static constexpr int depth = 16, sums = 8;

    static std::vector<std::uint32_t> random_elements(std::uint32_t n, std::uint32_t seed) {
        std::mt19937 random(seed);
        std::vector<std::uint32_t> elements(std::size_t{n} * n);
        for (auto& element : elements) element = static_cast<std::uint32_t>(random());
        return elements;
    }
    [[nodiscard]] std::size_t bytes() const { return a_.size() * sizeof(std::uint32_t); }
    [[nodiscard]] std::uint64_t words() const { return a_.size() / 2; }
    [[nodiscard]] std::uint32_t* matrix(int which) const {
        return reinterpret_cast<std::uint32_t*>(words_[which].data());
    }

    std::uint32_t n_;
    std::vector<std::uint32_t> a_, b_;
    device_words words_[3];  ///< both operands and the product
};

}  // namespace laneway::bench
