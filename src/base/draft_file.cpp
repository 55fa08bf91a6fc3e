#include "laneway/base/draft_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "system_reason.hpp"

namespace laneway {

namespace {

constexpr std::size_t piece_bytes = std::size_t{16} << 20;  // of a write, between two looks at the interruption

// The drafts that are there. Never destroyed: a thread that goes on as the process ends may still use it.
struct draft_list {
    std::mutex mutex;
    std::set<std::string> names;
};

draft_list& drafts() {
    static auto& all = *new draft_list;
    return all;
}

std::string random_name() {
    std::random_device device;
    char text[40];
    std::snprintf(text, sizeof text, ".laneway.%08x%08x", device(), device());
    return text;
}

/// Where a chain of links ends, at a file or at none.
std::filesystem::path behind_links(std::filesystem::path at) {
    constexpr int max_links = 40;  // as the system's own bound: links may be changed meanwhile
    std::error_code none;
    for (int i = 0; i < max_links && std::filesystem::is_symlink(std::filesystem::symlink_status(at, none)); ++i) {
        at = at.parent_path() / std::filesystem::read_symlink(at, none);
    }
    return at;
}

bool is_stream(const struct stat& file, int descriptor) {
    struct stat stream {};
    return ::fstat(descriptor, &stream) == 0 && stream.st_dev == file.st_dev && stream.st_ino == file.st_ino;
}

}  // namespace

draft_file::draft_file(std::filesystem::path target) : target_(std::move(target)), place_(behind_links(target_)) {
    const std::optional<struct stat> replaced = file_to_replace();
    create();
    struct stat made {};
    if (replaced) {
        made = *replaced;
        [[maybe_unused]] const int given = ::fchown(file_, made.st_uid, made.st_gid);  // root's only
    } else {
        (void)::fstat(file_, &made);
    }
    mode_ = made.st_mode & 0777;
    (void)::fchmod(file_, 0600);  // half a file is nobody else's business
}

std::optional<struct stat> draft_file::file_to_replace() const {
    struct stat found {};
    if (::stat(target_.c_str(), &found) != 0) {
        if (errno != ENOENT) fail(errno);
        return std::nullopt;
    }
    if (S_ISDIR(found.st_mode)) refuse("it is a directory");
    if (!S_ISREG(found.st_mode)) refuse("it is no regular file");
    if (is_stream(found, STDOUT_FILENO) || is_stream(found, STDERR_FILENO)) {
        refuse("this process's own output goes there");
    }
    if (::access(target_.c_str(), W_OK) != 0) fail(errno);
    return found;
}

void draft_file::create() {
    draft_list& list = drafts();
    const std::lock_guard lock(list.mutex);  // no remove_all() between the file and its entry
    int error_number = 0;
    do {
        draft_ = (place_.parent_path() / random_name()).string();
        const auto entry = list.names.insert(draft_).first;
        file_ = ::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        error_number = errno;
        if (file_ < 0) list.names.erase(entry);
    } while (file_ < 0 && (error_number == EEXIST || error_number == EINTR));
    if (file_ < 0) fail(error_number);
}

draft_file::~draft_file() {
    if (file_ >= 0) ::close(file_);
    if (draft_.empty()) return;
    draft_list& list = drafts();
    const std::lock_guard lock(list.mutex);
    list.names.erase(draft_);
    ::unlink(draft_.c_str());
}

void draft_file::write(const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
        interruption::poll();
        const ssize_t written = ::write(file_, at, std::min(bytes, piece_bytes));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(errno);
        at += written;
        bytes -= static_cast<std::size_t>(written);
    }
}

void draft_file::commit() {
    if (::fchmod(file_, mode_) != 0) fail(errno);
    if (::close(std::exchange(file_, -1)) != 0) fail(errno);  // some file systems tell only now that they are full
    draft_list& list = drafts();
    const std::lock_guard lock(list.mutex);
    if (::rename(draft_.c_str(), place_.c_str()) != 0) fail(errno);
    list.names.erase(std::exchange(draft_, {}));
}

void draft_file::remove_all() noexcept {
    draft_list& list = drafts();
    const std::lock_guard lock(list.mutex);
    for (const std::string& name : list.names) ::unlink(name.c_str());
}

void draft_file::fail(int error_number) const { refuse(reason_of(error_number)); }

void draft_file::refuse(const std::string& why) const {
    throw usage_error(target_.string() + ": cannot be written: " + why);
}

}  // namespace laneway
