#include "laneway/simt/exported_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/host_memory.hpp"

namespace laneway {

namespace {

class posix_memory final : public exported_memory {
public:
    void* allocate(std::size_t bytes, contribution& handle) override {
        if (bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max())) refuse(bytes, EFBIG);
        const int made = memfd_create("laneway", MFD_CLOEXEC);
        if (made < 0) refuse(bytes, errno);
        handle.file = file_handle(made);
        if (ftruncate(made, static_cast<off_t>(at_least_one(bytes))) != 0) refuse(bytes, errno);
        void* const memory = map(made, bytes);
        keep(memory, bytes, true);
        return memory;
    }

    void* import(const contribution& handle, std::size_t bytes) override {
        struct stat found {};
        // A mapping beyond the file's end would fault when it is used.
        if (fstat(handle.file.descriptor(), &found) != 0 || static_cast<std::size_t>(found.st_size) < bytes) {
            throw process_error("memory of another process: what came is no file of " + std::to_string(bytes) +
                                " bytes");
        }
        void* const memory = map(handle.file.descriptor(), bytes);
        keep(memory, bytes, false);
        return memory;
    }

    void free(void* memory) noexcept override {
        const std::lock_guard lock(changing_);
        const auto found = mapped_.find(memory);
        if (found == mapped_.end()) return;
        munmap(memory, at_least_one(found->second.bytes));
        if (found->second.own) count_held(-static_cast<std::ptrdiff_t>(found->second.bytes));
        mapped_.erase(found);
    }

private:
    struct piece {
        std::size_t bytes;
        bool own;
    };

    static std::size_t at_least_one(std::size_t bytes) { return std::max<std::size_t>(bytes, 1); }
    [[noreturn]] static void refuse(std::size_t bytes, int why) {
        throw system_error("no shared memory for " + std::to_string(bytes) + " bytes: " + std::strerror(why));
    }
    static void* map(int file, std::size_t bytes) {
        void* const memory = mmap(nullptr, at_least_one(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) refuse(bytes, errno);
        return memory;
    }
    void keep(void* memory, std::size_t bytes, bool own) {
        const std::lock_guard lock(changing_);
        mapped_.emplace(memory, piece{bytes, own});
        if (own) count_held(static_cast<std::ptrdiff_t>(bytes));
    }

    std::mutex changing_;
    std::unordered_map<void*, piece> mapped_;
};

}  // namespace

std::unique_ptr<exported_memory> export_memory_of(const device_id& id, const std::vector<device_id>& users) {
    if (id.kind == device_kind::cuda) {
        std::vector<int> gpus;
        for (const device_id& user : users) gpus.push_back(user.index);
        return cuda_backend::export_memory_of_gpu(id.index, gpus);
    }
    return std::make_unique<posix_memory>();
}

}  // namespace laneway
