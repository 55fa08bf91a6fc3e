#include "laneway/comm/reader_memory.hpp"

#include "laneway/transport/transport.hpp"

namespace laneway {

std::vector<std::byte*> allocate_for_reader(machine& machine, int reader,
                                            const std::function<std::size_t(int writer)>& bytes_from,
                                            std::vector<reader_memory>& pieces) {
    std::vector<std::byte*> parts(static_cast<std::size_t>(machine.n_pes()));
    const auto& to = machine.device(reader);
    for (const auto& way : all_transports()) {
        std::vector<int> writers;
        std::size_t bytes = 0;
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            if (pe == reader || &find_transport(*machine.device(pe), *to) != way.get()) continue;
            writers.push_back(pe);
            bytes += bytes_from(pe);
        }
        if (bytes == 0) continue;
        // The machine has connected all its GPUs, so one writer speaks for the others.
        pieces.push_back({reader, way->allocate(machine.device(writers[0]), to, bytes), bytes});
        std::byte* part = pieces.back().memory.get();
        for (const int writer : writers) {
            if (bytes_from(writer) == 0) continue;
            parts[static_cast<std::size_t>(writer)] = part;
            part += bytes_from(writer);
        }
    }
    return parts;
}

}  // namespace laneway
