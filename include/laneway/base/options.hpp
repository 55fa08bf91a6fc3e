// Knobs of a job. The defaults suit all programs; each can be set alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "laneway/base/path.hpp"
#include "laneway/base/run_meter.hpp"
#include "laneway/base/transport_model.hpp"

namespace laneway {

class bootstrap;
class timeline;

/// Deliberate damage, for tests of the deadlines and the fault record.
enum class injected_fault {
    none,
    deaf_server,   ///< the PE serves nothing
    stuck_credit,  ///< the PE serves but frees no ring slot
    deaf_host,     ///< host threads serve no calls
    // What the PE writes for other PEs does not reach them:
    mute_termination,  ///< its part of termination rounds
    mute_barrier,      ///< its part of barriers
    mute_collectives,  ///< its part of collectives
    stuck_forward,     ///< the PE sends nothing of what its handlers forward
    shut_inbox,        ///< the PE takes no messages from host threads, nor transfers and operations of communicators,
    losing_inbox,      ///< or takes messages and serves none
};

/// How checked devices look at accesses to symmetric memory.
struct checked_accesses {
    bool races = true;               ///< two accesses without order between them end the run
    bool switches_at_plain = false;  ///< other lanes may run before each plain access as well, not at atomics only
};

struct options {
    std::string devices;  ///< as parse_devices reads it; empty: every GPU, else one CPU device a core
    /// The processes whose devices are the PEs of the job, as local_processes of bootstrap.hpp gives them; null: those
    /// that the environment names, else this one alone.
    std::shared_ptr<bootstrap> processes = nullptr;
    /// Deadline of each run. Checked devices measure it in virtual time, 100 ns for each step of a lane: a second of it
    /// takes some seconds, as these are ten million steps. With wider warps a step is so much shorter.
    double timeout_seconds = 60;
    /// A session gives the devices back after so long without work, until the next post; 0: only when it is asked to.
    double lease_seconds = 1;
    std::uint64_t seed = 1;  ///< of the checked mode's scheduler
    /// What buffers and rings of the library may take on a PE, all together; comm/comm_plan.hpp says what counts, and
    /// which sizes shrink in which order where this is little.
    std::uint64_t buffer_bytes = 256 << 20;
    /// Payload of a chunk, at most; sets the aggregation buffers' size as well. 0: 16,384, or less.
    std::size_t chunk_bytes = 0;
    /// Chunks a ring holds, rounded down to a power of two; 0: up to two a service line into GPUs, 512 / n_pes but 4
    /// to 64 into CPU devices, or fewer.
    std::uint32_t ring_slots = 0;
    std::uint64_t age_ns = 5'000;  ///< a chunk leaves when its first message has waited so long; see aggregator.hpp
    int cpu_threads = 1;           ///< blocks of a CPU device
    int checked_blocks = 3;        ///< blocks of a checked device
    int checked_warps = 2;         ///< warps of its blocks
    laneway::checked_accesses checked_accesses = {};
    int gpu_blocks = 0;  ///< 0: as many as are resident at once
    /// Where a warp is wide: a share of the warps of each block serves, one at least, in place of whole blocks, and so
    /// does any warp that has nothing else to do. On CPU devices all warps serve.
    bool servers_in_every_block = false;
    /// Of a GPU's blocks, or of the warps of each, that serve, where there are several PEs; 0: what the program says,
    /// see server_share_of.
    double server_share = 0;
    int host_threads = 1;  ///< of each function that lanes may call; with several it must bear it
    /// Groups of calls on their way, for each PE, function and host thread. Other sizes shrink to leave room for them.
    std::uint32_t host_slots = 256;
    std::uint32_t progress_samples = 0;          ///< most samples kept for the report; 0: none
    std::shared_ptr<run_meter> meter = nullptr;  ///< where a run tells meanwhile how far it is; null: nowhere
    /// What runs write down, see timeline.hpp; null: LANEWAY_TIMELINE's.
    std::shared_ptr<laneway::timeline> timeline = nullptr;
    laneway::path path = laneway::path::direct;  ///< of one-sided operations that do not say it themselves
    /// How the PEs reach each other. Proxied, none stores into another one's memory: what lanes write for other PEs, a
    /// thread of the host carries. One-sided operations go as messages; components that need addresses of other PEs'
    /// memory are refused. The same in all processes.
    transport_model transport = transport_model::mapped;
    std::uint64_t forward_slots = 0;  ///< posts of handlers that a PE holds, at most; 0: 262,144, or fewer
    injected_fault fault = injected_fault::none;
    int fault_pe = 0;
};

/// The PE that has this injected fault; -1: none.
inline int pe_with(const options& o, injected_fault fault) { return o.fault == fault ? o.fault_pe : -1; }

}  // namespace laneway
