// A feed's way to the program of its session, for threads that may still be at it when the session ends.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

namespace laneway {

class resident_program;

class program_access {
public:
    /// While it lives, the program does.
    class use {
    public:
        use(program_access& access, resident_program& program) : access_(&access), program_(&program) {}
        ~use() { access_->leave(); }
        use(const use&) = delete;
        use& operator=(const use&) = delete;

        [[nodiscard]] resident_program& program() const { return *program_; }

    private:
        program_access* access_;
        resident_program* program_;
    };

    void connect(resident_program& program);
    /// Returns when nobody uses the program any more; threads that wait for one that has ended are about to leave.
    void disconnect() noexcept;
    [[nodiscard]] bool is_connected() const;
    /// Throws usage_error of this text where there is none.
    [[nodiscard]] use hold(const std::string& without);

private:
    void leave();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    resident_program* program_ = nullptr;
    int uses_ = 0;
};

}  // namespace laneway
