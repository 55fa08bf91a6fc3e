// Calls of what an application says of its items (item_route.hpp): what it throws ends the run and is named.
#pragma once

#include "laneway/flow/item_route.hpp"
#include "laneway/simt/user_code.hpp"

namespace laneway {

LANEWAY_STRICT_BEGIN
/// As call_needs_LANEWAY_FN, of each function of an application.
struct parts_needs_LANEWAY_FN {
    template <class Application, class Ctx>
    LANEWAY_FN item_parts operator()(const Application& app, Ctx& ctx, typename Application::item& item) const {
        return app.parts(ctx, item);
    }
};
struct work_needs_LANEWAY_FN {
    template <class Application, class Ctx, class List>
    LANEWAY_FN void operator()(const Application& app, Ctx& ctx, const typename Application::item& item,
                               std::uint32_t part, List& list) const {
        app.work(ctx, item, part, list);
    }
};
struct pack_needs_LANEWAY_FN {
    template <class Application, class Ctx>
    LANEWAY_FN typename Application::packed operator()(const Application& app, Ctx& ctx,
                                                       const typename Application::item& item) const {
        return app.pack(ctx, item);
    }
};
struct unpack_needs_LANEWAY_FN {
    template <class Application, class Ctx>
    LANEWAY_FN typename Application::item operator()(const Application& app, Ctx& ctx,
                                                     const typename Application::packed& packed) const {
        return app.unpack(ctx, packed);
    }
};
struct on_send_needs_LANEWAY_FN {
    template <class Application, class Ctx>
    LANEWAY_FN item_route operator()(const Application& app, Ctx& ctx, const typename Application::item& item) const {
        return app.on_send(ctx, item);
    }
};
struct on_receive_needs_LANEWAY_FN {
    template <class Application, class Ctx>
    LANEWAY_FN item_route operator()(const Application& app, Ctx& ctx,
                                     const typename Application::packed& packed) const {
        return app.on_receive(ctx, packed);
    }
};
struct priority_needs_LANEWAY_FN {
    template <class Application, class Ctx>
    LANEWAY_FN std::uint64_t operator()(const Application& app, Ctx& ctx,
                                        const typename Application::item& item) const {
        return app.priority(ctx, item);
    }
};
LANEWAY_STRICT_END

/// An application on a PE.
template <class Application>
struct item_application {
    using item = typename Application::item;
    using packed = typename Application::packed;
    static_assert(trivially_copyable<Application>, "it is copied to every device: it holds values and ref()s only");
    static_assert(trivially_copyable<item> && trivially_copyable<packed>, "items are copied as bytes");
    static_assert(std::is_default_constructible_v<item> && std::is_default_constructible_v<packed>,
                  "where a function throws, an item of no meaning takes the place of what it would have returned");

    Application own;

    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx& ctx, item& one) const {
        return run_user_code(ctx, {user_code::parts}, parts_needs_LANEWAY_FN{}, own, ctx, one);
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const item& one, std::uint32_t part, List& list) const {
        run_user_code(ctx, {user_code::work}, work_needs_LANEWAY_FN{}, own, ctx, one, part, list);
    }
    template <class Ctx>
    LANEWAY_FN packed pack(Ctx& ctx, const item& one) const {
        return run_user_code(ctx, {user_code::pack}, pack_needs_LANEWAY_FN{}, own, ctx, one);
    }
    template <class Ctx>
    LANEWAY_FN item unpack(Ctx& ctx, const packed& one) const {
        return run_user_code(ctx, {user_code::unpack}, unpack_needs_LANEWAY_FN{}, own, ctx, one);
    }
    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx& ctx, const item& one) const {
        return run_user_code(ctx, {user_code::on_send}, on_send_needs_LANEWAY_FN{}, own, ctx, one);
    }
    template <class Ctx>
    LANEWAY_FN item_route on_receive(Ctx& ctx, const packed& one) const {
        return run_user_code(ctx, {user_code::on_receive}, on_receive_needs_LANEWAY_FN{}, own, ctx, one);
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx& ctx, const item& one) const {
        return run_user_code(ctx, {user_code::priority}, priority_needs_LANEWAY_FN{}, own, ctx, one);
    }
};

}  // namespace laneway
