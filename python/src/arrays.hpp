// C++ vectors as NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace laneway::python {

template <class T>
using vector_array = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;
template <class T>
using matrix_array = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>>;

/// What owns the memory of an array that NumPy shall see; `data` is where it lies.
template <class T>
nanobind::capsule keep(std::vector<T>&& values, T*& data) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    data = owned->data();
    return nanobind::capsule(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
}

/// Hands a vector's memory to NumPy without a copy.
template <class T>
vector_array<T> give(std::vector<T>&& values) {
    const std::size_t size = values.size();
    T* data = nullptr;
    const auto owner = keep(std::move(values), data);
    return vector_array<T>(data, {size}, owner);
}

/// The same as a matrix in row order.
template <class T>
matrix_array<T> give_matrix(std::vector<T>&& values, std::size_t columns) {
    const std::size_t rows = columns == 0 ? 0 : values.size() / columns;
    T* data = nullptr;
    const auto owner = keep(std::move(values), data);
    return matrix_array<T>(data, {rows, columns}, owner);
}

using parts_array =
    nanobind::ndarray<const std::uint32_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

/// PE of each vertex, or class, as the programs on graphs take it; empty where there is none.
inline std::vector<std::uint32_t> parts_of(const std::optional<parts_array>& parts) {
    if (!parts) return {};
    return {parts->data(), parts->data() + parts->size()};
}

}  // namespace laneway::python
