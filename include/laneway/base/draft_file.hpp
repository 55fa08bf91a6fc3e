// Files that appear complete or not at all.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace laneway {

/// A file that is written under a name of its own beside its target and takes the target's place at commit(). Host
/// only. Names are random and never those of a file that is there: writers of one target, in one process or on several
/// machines, do not meet. A link stays a link: the file behind it is replaced, and gives its mode and, where the system
/// lets it, its owner.
class draft_file {
public:
    /// Creates the draft. Throws usage_error where the folder does not let it, and where what stands there is no
    /// regular file, may not be written or takes this process's own output.
    explicit draft_file(std::filesystem::path target);
    /// Removes a draft that was not committed.
    ~draft_file();
    draft_file(const draft_file&) = delete;
    draft_file& operator=(const draft_file&) = delete;

    /// Appends; may be left by an interruption. Throws usage_error where the disk takes no more.
    void write(const void* data, std::size_t bytes);
    /// Puts the draft in its target's place. Throws usage_error; the target is then as it was.
    void commit();

    /// Removes the drafts of the whole process: for who ends it without a return from the calls that made them.
    static void remove_all() noexcept;

private:
    [[nodiscard]] std::optional<struct stat> file_to_replace() const;
    void create();
    [[noreturn]] void fail(int error_number) const;
    [[noreturn]] void refuse(const std::string& why) const;

    std::filesystem::path target_;
    std::filesystem::path place_;  ///< of the file that is replaced: behind the target's links
    std::string draft_;            ///< empty once it is committed
    int file_ = -1;
    ::mode_t mode_ = 0;  ///< of the file when it is complete
};

}  // namespace laneway
