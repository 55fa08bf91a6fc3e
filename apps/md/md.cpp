#include "md.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>

#include "advance_universe.hpp"
#include "exchange.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/task_pool.hpp"

namespace laneway::apps {

namespace {

using md_pool = task_pool<advance_universe, advance_large_universe>;
using clock = std::chrono::steady_clock;

constexpr std::uint64_t max_samples = 1 << 16;  ///< of a universe between two looks of the host

task_pool_options pool_options() {
    task_pool_options made;
    made.batch_bytes = 1 << 16;  // there are none
    made.max_ahead = 1;          // tasks are long: whoever is done takes the next
    return made;
}

void require_sound(const std::vector<md_atoms>& universes, const md_options& options) {
    const std::size_t count = universes.size();
    if (count == 0) throw usage_error("there are no universes");
    if (options.model.sample_steps == 0) throw usage_error("energies are sampled after 1 step or more, not 0");
    const auto& temperatures = options.temperatures;
    if (!temperatures.empty() && temperatures.size() != count) {
        throw usage_error(std::to_string(temperatures.size()) + " temperatures of " + std::to_string(count) +
                          " universes");
    }
    for (const double t : temperatures) {
        if (!(t > 0 && std::isfinite(t))) {
            throw usage_error("a temperature is " + std::to_string(t) + ", not finite and above 0");
        }
    }
    if (options.exchange_steps > 0 && temperatures.empty()) {
        throw usage_error("universes that exchange their temperatures need some");
    }
}

std::string name_of(std::size_t universe) { return "universe " + std::to_string(universe + 1); }

/// What velocities are multiplied by so that they have a temperature.
double factor_to(double temperature, const md_atoms& atoms, std::size_t universe) {
    md_energies now;
    for (const double v : atoms.velocities) now.kinetic += 0.5 * v * v;
    const double before = now.temperature(static_cast<std::uint32_t>(atoms.size()));
    if (before > 0) return std::sqrt(temperature / before);
    throw usage_error(name_of(universe) + ": all velocities are 0, and cannot be scaled to a temperature");
}

class md_job {
public:
    md_job(runtime& runtime, const std::vector<md_atoms>& universes, const md_options& options)
        : runtime_(runtime), given_(universes), options_(options), factors_(universes.size(), 1.0),
          reports_(universes.size()), made_(universes.size()) {
        const std::chrono::duration<double> limit(options.job.timeout_seconds - options.spent_seconds);
        deadline_ = clock::now() + std::chrono::duration_cast<clock::duration>(limit);
        lay_out();
        if (options.exchange_steps > 0) ladder_.emplace(options.temperatures, options.exchange_seed);
        for (std::size_t i = 0; i < options.temperatures.size(); ++i) {
            factors_[i] = factor_to(options.temperatures[i], universes[i], i);
        }
        allocate();
    }

    md_result run() {
        const std::uint32_t max_lanes = options_.lanes == 0 ? ~std::uint32_t{0} : options_.lanes;
        const advance_universe body{own_memory_words(), leave_word(), max_lanes};
        md_pool pool(pool_options(), body, advance_large_universe{body});
        auto session = runtime_.start(pool);
        md_result result;
        result.workers = pool.statistics().workers;
        {
            const leaving at_end{leave_word()};
            note_rungs(result);
            std::uint64_t step = 0;
            do {
                const std::uint64_t steps = steps_from(step);
                step += steps;
                advance_all(pool, steps, step);
                if (ladder_ && step < options_.steps && step % options_.exchange_steps == 0) {
                    exchange(step / options_.exchange_steps - 1, result);
                }
            } while (step < options_.steps);
        }
        result.report = session.stop();
        collect(result);
        return result;
    }

private:
    /// Lets tasks that nobody waits for any more end soon: a session stops when all are done.
    struct leaving {
        std::uint32_t* word;
        ~leaving() { std::atomic_ref(*word).store(1, std::memory_order_relaxed); }
    };

    void lay_out() {
        const std::uint64_t most = std::min(options_.steps, max_samples * options_.model.sample_steps);
        const auto samples = static_cast<std::uint32_t>(most / options_.model.sample_steps + 1);
        for (std::size_t i = 0; i < given_.size(); ++i) {
            keep_to_deadline("set up");
            try {
                universes_.push_back({nullptr, shape_of(given_[i], options_.model, samples), options_.model});
            } catch (const usage_error& refused) {
                if (given_.size() == 1) throw;
                throw usage_error(name_of(i) + ": " + refused.what());
            }
            places_.push_back(bytes_);
            bytes_ += md_universe_ref::bytes(universes_.back().shape);
        }
    }

    void allocate() {
        const machine& machine = runtime_.machine();
        int user = 0;
        while (machine.has_gpus() && !machine.device(user)->is_gpu()) ++user;
        shared_ = allocate_host_visible(machine.device(user), bytes_);
        const auto pes = static_cast<std::size_t>(runtime_.n_pes());
        words_ = allocate_host_visible(machine.device(user), destructive_bytes + pes * sizeof(std::byte*));
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            // Lanes of CPU devices work where the universe lies; checked ones do as GPUs.
            if (machine.device(pe)->id().kind == device_kind::cpu) continue;
            own_.emplace_back(machine.device(pe), bytes_);
            own_memory_words()[pe] = own_.back().data();
        }
        for (std::size_t i = 0; i < given_.size(); ++i) {
            keep_to_deadline("set up");
            universes_[i].memory = shared_.get() + places_[i];
            const std::vector<std::byte> packed = pack(given_[i], universes_[i].shape);
            std::memcpy(universes_[i].memory, packed.data(), packed.size());
        }
    }

    [[nodiscard]] std::uint32_t* leave_word() const { return reinterpret_cast<std::uint32_t*>(words_.get()); }
    [[nodiscard]] std::byte** own_memory_words() const {
        return reinterpret_cast<std::byte**>(words_.get() + destructive_bytes);
    }

    /// Steps of the tasks that begin at `step`: up to an exchange, and no more than there is room for samples.
    [[nodiscard]] std::uint64_t steps_from(std::uint64_t step) const {
        std::uint64_t steps = std::min(options_.steps - step, max_samples * options_.model.sample_steps);
        if (ladder_) steps = std::min(steps, options_.exchange_steps - step % options_.exchange_steps);
        return steps;
    }

    /// One task a universe; returns when all are done and at step `end`.
    void advance_all(md_pool& pool, std::uint64_t steps, std::uint64_t end) {
        try {
            const auto futures = submit_all(pool, steps);
            pool.as_completed(futures, [&](std::size_t i) {
                reports_[i] = futures[i].get();
                factors_[i] = 1;
                if (clock::now() > deadline_) throw_late(end);
            });
        } catch (const timeout_error&) {
            if (clock::now() > deadline_) throw_late(end);
            throw;
        }
        for (std::size_t i = 0; i < universes_.size(); ++i) {
            md_state& state = *universes_[i].state();
            require_ok(name_of(i), state, universes_[i].shape);
            const md_energies* const samples = universes_[i].samples();
            made_[i].insert(made_[i].end(), samples, samples + state.samples);
            state.samples = 0;
        }
    }

    std::vector<task_future<md_report>> submit_all(md_pool& pool, std::uint64_t steps) const {
        task_request request;
        // Before that of the session, which ends workers wherever they are: these end in order.
        request.timeout_seconds = std::max(std::chrono::duration<double>(deadline_ - clock::now()).count(), 1e-9);
        std::vector<task_future<md_report>> futures;
        for (std::size_t i = 0; i < universes_.size(); ++i) {
            keep_to_deadline("submitted");
            const advance_universe::arguments order{universes_[i], places_[i], steps, factors_[i]};
            if (universes_[i].shape.atoms >= advance_large_universe::min_atoms) {
                futures.push_back(pool.submit<advance_large_universe>(order, request));
            } else {
                futures.push_back(pool.submit<advance_universe>(order, request));
            }
        }
        return futures;
    }

    /// In loops over universes, which may be millions: where the call can be left, and whether it is late.
    void keep_to_deadline(const char* what) const {
        interruption::poll();
        if (clock::now() <= deadline_) return;
        throw timeout_error("deadline passed: " + std::to_string(given_.size()) + " universes were not " + what +
                            " within " + shown_seconds() + " s");
    }
    [[noreturn]] void throw_late(std::uint64_t step) const {
        throw timeout_error("deadline passed: step " + std::to_string(step) + " of " + std::to_string(options_.steps) +
                            " was not reached by all universes within " + shown_seconds() + " s");
    }
    [[nodiscard]] std::string shown_seconds() const {
        std::ostringstream text;
        text << options_.job.timeout_seconds;
        return text.str();
    }

    void exchange(std::uint64_t round, md_result& result) {
        std::vector<double> potentials;
        for (const md_report& report : reports_) potentials.push_back(report.energies.potential);
        result.pairs += ladder_->pairs_of(round).size();
        for (const replica_ladder::trade& made : ladder_->trade_round(round, potentials)) {
            factors_[made.lower] = made.lower_factor;
            factors_[made.upper] = made.upper_factor;
            ++result.accepted;
        }
        note_rungs(result);
    }

    void note_rungs(md_result& result) const {
        for (std::size_t i = 0; ladder_ && i < universes_.size(); ++i) {
            result.rungs.push_back(static_cast<std::uint32_t>(ladder_->rung_of(i)));
        }
    }

    void collect(md_result& result) {
        for (std::size_t i = 0; i < universes_.size(); ++i) {
            keep_to_deadline("collected");
            md_outcome outcome = unpack(universes_[i].memory, universes_[i].shape, given_[i].box_low);
            outcome.samples = std::move(made_[i]);
            if (outcome.samples.back().step != options_.steps) outcome.samples.push_back(reports_[i].energies);
            result.universes.push_back(std::move(outcome));
        }
    }

    runtime& runtime_;
    const std::vector<md_atoms>& given_;
    const md_options& options_;
    clock::time_point deadline_;
    std::uint64_t bytes_ = 0;
    std::vector<md_universe_ref> universes_;
    std::vector<std::uint64_t> places_;
    std::vector<double> factors_;  ///< of velocities, for the next task
    std::vector<md_report> reports_;
    std::vector<std::vector<md_energies>> made_;  ///< samples
    std::optional<replica_ladder> ladder_;
    std::shared_ptr<std::byte> shared_;  ///< the universes
    std::shared_ptr<std::byte> words_;   ///< whether tasks leave, and where each PE has memory of its own
    std::vector<buffer<std::byte>> own_;
};

}  // namespace

md_result md(runtime& runtime, const std::vector<md_atoms>& universes, const md_options& options) {
    require_sound(universes, options);
    return md_job(runtime, universes, options).run();
}

md_result md(const std::vector<md_atoms>& universes, const md_options& options) {
    require_sound(universes, options);
    runtime runtime(options.job);
    return md(runtime, universes, options);
}

}  // namespace laneway::apps
