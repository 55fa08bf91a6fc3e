// A stream socket to one other process of the job: messages with a file or without, sent and received without waiting.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "laneway/base/bootstrap.hpp"

namespace laneway {

enum class note : std::uint32_t {
    hello,         ///< first, from the process that connects: who it is
    contribution,  ///< to an all_gather
    alert,         ///< see bootstrap::alert
    leaving,       ///< last: why the sender ends the job
};

class peer_link {
public:
    struct message {
        note kind = note::contribution;
        contribution content;
    };

    peer_link() = default;
    /// Takes over a connected socket; asks the system who is at the other end.
    explicit peer_link(file_handle socket);

    [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] unsigned user() const { return user_; }
    /// Whether nothing more will come.
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] bool is_sending() const { return !out_.empty(); }

    /// Queues a message and sends what the socket takes at once.
    void send(note kind, const contribution& content);
    /// Sends and receives what can be without waiting.
    void progress();
    /// Whether a message has come, which is moved to `taken`.
    bool take(message& taken);

private:
    struct frame {
        std::string bytes;
        std::size_t sent = 0;
        file_handle file;
    };
    void flush();
    void receive();
    void read_frames();

    file_handle socket_;
    int pid_ = 0;
    unsigned user_ = 0;
    bool ended_ = false;
    std::deque<frame> out_;
    std::string in_;
    std::deque<file_handle> files_;  ///< received, of frames that are not complete
    std::deque<message> come_;
};

}  // namespace laneway
