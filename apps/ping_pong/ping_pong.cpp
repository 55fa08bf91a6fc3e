#include "ping_pong/ping_pong.hpp"

#include <numeric>

#include "ping_pong/message.hpp"

namespace laneway::apps {

std::vector<std::uint64_t> first_message(std::uint64_t words) {
    std::vector<std::uint64_t> made(words);
    std::iota(made.begin(), made.end(), 0);
    return made;
}

message::message(runtime& rt, const ping_pong_options& options)
    : n_pes_(rt.n_pes()), rounds_(options.rounds), in_(rt.allocate<std::uint64_t>(options.words)),
      out_(rt.allocate<std::uint64_t>(options.words)), arrived_(rt.allocate<std::uint64_t>(1)),
      account_(rt.allocate<std::uint64_t>(message_account_words)) {
    in_.copy_in(0, first_message(options.words));
}

ping_pong_result message::take() const {
    ping_pong_result result;
    result.message = in_.copy_out(0);
    for (int pe = 0; pe < n_pes_; ++pe) {
        const auto account = account_.copy_out(pe);
        result.computing_seconds += seconds_of(account[0]) / n_pes_;
        result.wrong += account[1];
    }
    return result;
}

ping_pong_result ping_pong(const ping_pong_options& options) {
    require_common(options.style, "ping_pong");
    if (options.words == 0) throw usage_error("ping_pong: a message of no words");
    if (options.style == communication_style::host_driven) return pass_by_host(options);
    if (options.style == communication_style::stream_triggered) return pass_by_streams(options);
    runtime rt(options.job);
    const message all(rt, options);
    const bool by_host_threads = options.style == communication_style::service_host;
    const bool triggered = options.style == communication_style::triggered;
    const served_run made =
        triggered ? served_run{pass_by_triggers(rt, all), 0} : pass_by_service(rt, all, by_host_threads);
    ping_pong_result result = all.take();
    result.seconds = made.seconds;
    result.requests = made.requests;
    return result;
}

}  // namespace laneway::apps
