// laneway._core: the compiled part of the Python package. Its public face is the package itself.
#include "module.hpp"

NB_MODULE(_core, module) {
    using namespace laneway::python;
    nanobind::set_leak_warnings(false);  // what a script still holds as Python ends is no concern of its user
    module.attr("version") = LANEWAY_VERSION;
    register_errors();
    register_devices(module);
    register_timeline(module);
    register_options(module);
    register_report(module);
    register_graph(module);
    register_graph_arrays(module);
    register_session(module);
    register_kmeans(module);
    register_kmer(module);
    register_matching(module);
    register_md(module);
    register_shortest_paths(module);
    register_near_far(module);
    register_indegree(module);
    register_bfs(module);
    register_cc(module);
    register_cdlp(module);
    register_triangles(module);
    register_pagerank(module);
    register_color(module);
    register_filter(module);
    register_flow(module);
    register_flow_groups(module);
    register_gups(module);
    register_recursion(module);
    register_messaging(module);
    register_service(module);
    register_task_pool(module);
#if LANEWAY_HAS_STYLES
    register_styles(module);
#endif
}
