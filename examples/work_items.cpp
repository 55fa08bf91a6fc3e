// What is the least price of each number from 2 to 9,999, made from 1, where adding 1 costs 1, doubling 2, tripling 3?
// Each number belongs to one device; an item offers a number for a price, and makes three others.
#include <iostream>
#include "laneway/flow/item_worklist.hpp"
#include "laneway/runtime.hpp"
constexpr std::uint64_t numbers = 10'000;
struct offer {
    std::uint64_t number = 0, price = 0;
};
struct make_numbers : lw::item_defaults<offer> {  // which packs and unpacks items as they are
    std::uint64_t* prices = nullptr;              // of numbers that belong to the PE; all ones: none so far

    template <class Ctx>
    LANEWAY_FN lw::item_route on_receive(Ctx& ctx, const offer& o) const {
        std::uint64_t* const price = prices + o.number / static_cast<unsigned>(ctx.n_pes());
        const std::uint64_t before = ctx.fetch_min(price, o.price, lw::order::relaxed, lw::scope::device);
        return o.price < before ? lw::item_route::keep() : lw::item_route::drop();
    }
    template <class Ctx>
    LANEWAY_FN lw::item_route on_send(Ctx& ctx, const offer& o) const {
        const int owner = static_cast<int>(o.number % static_cast<unsigned>(ctx.n_pes()));
        if (o.number < numbers && owner != ctx.pe()) return lw::item_route::pass(owner);
        return o.number < numbers ? on_receive(ctx, o) : lw::item_route::drop();
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx&, const offer& o) const {
        return o.price;  // cheap ones first: few of the others are of use
    }
    template <class Ctx>
    LANEWAY_FN lw::item_parts parts(Ctx&, const offer&) const {
        return lw::item_parts::of(3);
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const offer& o, std::uint32_t part, List& list) const {
        const offer made{part == 0 ? o.number + 1 : o.number * (part + 1), o.price + part + 1};
        (void)list.push(ctx, made);  // a failure ends the run
    }
};
// Usage: work_items [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
int main(int argc, char** argv) try {
    lw::options options;
    if (argc > 1) options.devices = argv[1];
    lw::runtime runtime(options);
    std::vector<lw::buffer<std::uint64_t>> prices;
    std::vector<make_numbers> pes(static_cast<std::size_t>(runtime.n_pes()));
    for (int pe = 0; pe < runtime.n_pes(); ++pe) {
        prices.emplace_back(runtime.machine().device(pe), numbers).fill_bytes(0xff);
        pes[static_cast<std::size_t>(pe)].prices = prices.back().data();
    }
    lw::item_worklist<make_numbers> list(runtime.machine(), pes);
    list.start_with(1 % runtime.n_pes(), {{1, 0}});
    lw::run_items(runtime, list);
    std::uint64_t sum = 0;
    for (const auto& of_pe : prices)
        for (const std::uint64_t price : of_pe.copy_out()) sum += ~price == 0 ? 0 : price;
    std::cout << "9998 numbers cost " << sum << '\n';
} catch (const lw::error& error) {
    std::cerr << "work_items: " << error.what() << '\n';
    return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
}
