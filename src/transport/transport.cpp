#include "laneway/transport/transport.hpp"

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

std::shared_ptr<std::byte> on_device(const std::shared_ptr<device>& owner, std::size_t bytes) {
    return {static_cast<std::byte*>(owner->allocate(bytes)),
            [owner, bytes](std::byte* memory) { owner->release(memory, bytes); }};
}

class shared_transport final : public transport {
public:
    const char* name() const override { return "shared"; }
    bool connects(const device& writer, const device& reader) const override {
        return !writer.is_gpu() && !reader.is_gpu();
    }
    std::shared_ptr<std::byte> allocate(const std::shared_ptr<device>&, const std::shared_ptr<device>& reader,
                                        std::size_t bytes) const override {
        return on_device(reader, bytes);
    }
};

class peer_transport final : public transport {
public:
    const char* name() const override { return "peer"; }
    bool connects(const device& writer, const device& reader) const override {
        return writer.is_gpu() && reader.is_gpu();
    }
    std::shared_ptr<std::byte> allocate(const std::shared_ptr<device>& writer, const std::shared_ptr<device>& reader,
                                        std::size_t bytes) const override {
        connect_gpus({writer, reader});
        return on_device(reader, bytes);
    }
};

class pinned_transport final : public transport {
public:
    const char* name() const override { return "pinned"; }
    bool connects(const device& writer, const device& reader) const override {
        return writer.is_gpu() != reader.is_gpu();
    }
    std::shared_ptr<std::byte> allocate(const std::shared_ptr<device>& writer, const std::shared_ptr<device>& reader,
                                        std::size_t bytes) const override {
        auto memory = allocate_host_visible(bytes, true);
        std::byte* first = memory.get();
        return {first, [writer, reader, owner = std::move(memory)](std::byte*) mutable {
                    // A kernel that did not end may still use it.
                    if (writer->abandoned() || reader->abandoned()) keep_for_good(std::move(owner));
                }};
    }
};

}  // namespace

const std::vector<std::unique_ptr<transport>>& all_transports() {
    static const auto list = [] {
        std::vector<std::unique_ptr<transport>> made;
        made.push_back(std::make_unique<shared_transport>());
        made.push_back(std::make_unique<peer_transport>());
        made.push_back(std::make_unique<pinned_transport>());
        return made;
    }();
    return list;
}

const transport& find_transport(const device& writer, const device& reader) {
    for (const auto& candidate : all_transports()) {
        if (candidate->connects(writer, reader)) return *candidate;
    }
    throw usage_error("no transport carries from " + writer.name() + " to " + reader.name());
}

std::shared_ptr<std::byte> allocate_for_proxy(const std::shared_ptr<device>& user, std::size_t bytes) {
    return user->is_gpu() ? allocate_host_visible(user, bytes) : on_device(user, bytes);
}

}  // namespace laneway
