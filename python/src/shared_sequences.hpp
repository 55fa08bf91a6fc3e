// Sequences that several Python threads read into and count at the same time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

#include "kmer/sequences.hpp"

namespace laneway::python {

/// Every call may be made by any thread at any time. Those who count see the files that were whole when they began.
class shared_sequences {
public:
    /// The sequences as they are now; nothing changes what this gives.
    [[nodiscard]] std::shared_ptr<const apps::packed_sequences> now() const {
        const std::lock_guard lock(*mutex_);
        ++all_->readers;
        return {&all_->packed, [mutex = mutex_, all = all_](const apps::packed_sequences*) {
                    const std::lock_guard unlock(*mutex);
                    --all->readers;
                }};
    }

    /// Appends the sequences of a file: all of them, or, where it is refused, none.
    void read(const std::filesystem::path& path) {
        apps::packed_sequences file;
        apps::read_sequences(path, file);
        append(std::move(file));
    }

    void append(apps::packed_sequences&& more) {
        const std::lock_guard lock(*mutex_);
        if (all_->readers > 0) all_ = std::make_shared<state>(state{all_->packed});
        all_->packed.append(std::move(more));
    }

private:
    struct state {
        apps::packed_sequences packed;
        int readers = 0;
    };

    std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
    std::shared_ptr<state> all_ = std::make_shared<state>();
};

}  // namespace laneway::python
