#include "laneway/simt/machine.hpp"

#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/simt/run_recorder.hpp"
#include "laneway/simt/shared_device.hpp"

namespace laneway {

machine::machine(const std::string& devices, std::uint64_t seed, const checked_accesses& accesses,
                 std::shared_ptr<bootstrap> processes, transport_model transport)
    : group_(std::make_shared<process_group>(processes ? std::move(processes) : processes_of_environment())),
      seed_(seed), accesses_(accesses), transport_(transport) {
    open_devices(devices);
    const std::size_t pes = devices_.size();
    group_->alone([&] {
        if (has_gpus()) {
            const std::string why = cuda_backend::refusal(n_pes());
            if (!why.empty()) throw usage_error(why);
        }
        connect_gpus(devices_);
        host_visible_ = allocate_host_visible(faults_at + pes * sizeof(fault_record), has_gpus());
    });
    segments_ = std::make_shared<segment_table>(devices_, transport_);
    kernels_.resize(pes);
    for (std::size_t p = 0; p < pes; ++p) {
        controls_.emplace_back(devices_[p], 1);
        pe_environment env;
        env.pe = static_cast<int>(p);
        env.n_pes = static_cast<int>(pes);
        env.control = controls_[p].data();
        env.fault = record_of(p);
        if (!devices_[p]->is_gpu()) env.thrown = thrown_.get();
        env.host_stop = reinterpret_cast<const std::uint32_t*>(host_visible_.get());
        environments_.push_back(env);
    }
}

machine::~machine() {
    // CUDA frees no memory that another process has mapped: the last of it goes when all have come here.
    if (!has_gpus() || n_processes() == 1 || std::uncaught_exceptions() != 0) return;
    controls_.clear();
    segments_.reset();
    try {
        (void)group_->meet("closing the devices", {});
    } catch (...) {
        // The job is over in another way, of which its next call tells.
    }
}

void machine::record(std::shared_ptr<timeline> kept_in) {
    recorder_ = std::make_unique<run_recorder>(std::move(kept_in), devices_, own_, environments_);
}

void machine::record_totals(const run_report& report) {
    if (recorder_) recorder_->add_totals(report);
}

/// The devices of all processes. Several processes must have devices of one kind, whose memory they can share.
void machine::open_devices(const std::string& list) {
    const auto mine = group_->alone([&] { return parse_devices(list); });
    if (group_->size() == 1) {
        for (const auto& id : mine) devices_.push_back(open_device(id));
    } else {
        const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(device_id));
        const bool proxied = transport_ == transport_model::proxied;
        const auto lists = group_->meet(proxied ? "opening devices with proxies" : "opening devices", {bytes, {}});
        std::vector<device_id> ids;
        for (int process = 0; process < group_->size(); ++process) {
            const std::string& given = lists[static_cast<std::size_t>(process)].bytes;
            ids.resize(ids.size() + given.size() / sizeof(device_id));
            std::memcpy(ids.data() + owners_.size(), given.data(), given.size());
            owners_.resize(ids.size(), process);
        }
        refuse_unshareable(ids, owners_);
        if (proxied && ids[0].kind == device_kind::cuda) {
            throw usage_error("GPUs of several processes reach each other's memory: no proxy carries between them");
        }
        for (std::size_t p = 0; p < ids.size(); ++p) {
            devices_.push_back(group_->alone([&] {
                return std::make_shared<shared_device>(ids[p], static_cast<int>(p), owners_[p], mine, group_);
            }));
        }
    }
    owners_.resize(devices_.size());
    for (std::size_t p = 0; p < owners_.size(); ++p) {
        if (owners_[p] == group_->rank()) own_.push_back(p);
    }
}

bool machine::has_gpus() const {
    for (const auto& d : devices_) {
        if (d->is_gpu()) return true;
    }
    return false;
}

bool machine::shares_memory(int pe, int other) const {
    return segments_->reaches(static_cast<std::size_t>(pe), static_cast<std::size_t>(other));
}

std::vector<std::string> machine::names() const {
    std::vector<std::string> list;
    for (const auto& d : devices_) list.push_back(d->name());
    return list;
}

std::shared_ptr<const std::uint32_t> machine::add_segment(const std::vector<void*>& bases, std::uint64_t bytes) {
    return {new std::uint32_t(segments_->add(bases, bytes)), [table = segments_](const std::uint32_t* segment) {
                table->remove(*segment);
                delete segment;
            }};
}

std::uint64_t machine::segments_left() const { return segments_->left(); }

run_deadline machine::begin(double timeout_seconds) const {
    const bool in_threads = !has_gpus() && device(0)->id().kind != device_kind::checked;
    if (!in_threads) return timeout_seconds;
    return run_deadline::from_now(timeout_seconds, [group = group_](const std::string& why) { group->leave(why); });
}

void machine::replace_kernel(int pe, std::span<const std::byte> code) {
    const auto mine = refuse_during_run();
    kernel_place& place = kernels_[static_cast<std::size_t>(pe)];
    if (place.asked == nullptr) throw usage_error(device(pe)->name() + " has run no kernel that another could replace");
    place.by = cuda_backend::load_kernel(device(pe)->id().index, code, place.shape, place.asked);
    place.replaced = place.asked;
}

/// What the process that runs the PE has measured there.
int machine::told_by_owner(int pe, int own) const {
    if (n_processes() == 1) return own;
    const auto told = group_->meet("sizing the grid of PE " + std::to_string(pe), {std::to_string(own), {}});
    return std::stoi(told[static_cast<std::size_t>(owners_[static_cast<std::size_t>(pe)])].bytes);
}

void machine::set_give_back(const std::function<laneway::device::hold()>& give_back) {
    if (give_back && shared_) throw usage_error("a session is open on these devices: stop it before you start another");
    if (give_back) shared_ = true;
    for (const auto& d : devices_) d->set_give_back(give_back);
    if (!give_back) shared_ = false;
}

std::uint64_t machine::service_bytes(int pe) const {
    const std::lock_guard lock(attaching_);
    std::uint64_t bytes = 0;
    for (const auto& service : services_) {
        if (const auto alive = service.lock()) bytes += alive->buffer_bytes(pe);
    }
    return bytes;
}

std::vector<std::shared_ptr<host_service>> machine::attached() {
    const std::lock_guard lock(attaching_);
    std::erase_if(services_, [](const auto& service) { return service.expired(); });
    std::vector<std::shared_ptr<host_service>> all;
    for (const auto& service : services_) all.push_back(service.lock());
    return all;
}

}  // namespace laneway
