// The parts of the Python module, one file each.
#pragma once

#include <nanobind/nanobind.h>

namespace laneway::python {

void register_errors();
void register_devices(nanobind::module_& module);
void register_options(nanobind::module_& module);
void register_timeline(nanobind::module_& module);
void register_report(nanobind::module_& module);
void register_graph_arrays(nanobind::module_& module);
void register_graph(nanobind::module_& module);
void register_session(nanobind::module_& module);
void register_kmeans(nanobind::module_& module);
void register_kmer(nanobind::module_& module);
void register_matching(nanobind::module_& module);
void register_md(nanobind::module_& module);
void register_shortest_paths(nanobind::module_& module);
void register_near_far(nanobind::module_& module);
void register_indegree(nanobind::module_& module);
void register_bfs(nanobind::module_& module);
void register_cc(nanobind::module_& module);
void register_cdlp(nanobind::module_& module);
void register_triangles(nanobind::module_& module);
void register_pagerank(nanobind::module_& module);
void register_color(nanobind::module_& module);
void register_filter(nanobind::module_& module);
void register_flow(nanobind::module_& module);
void register_flow_groups(nanobind::module_& module);
void register_gups(nanobind::module_& module);
void register_task_pool(nanobind::module_& module);
void register_recursion(nanobind::module_& module);
void register_messaging(nanobind::module_& module);
void register_service(nanobind::module_& module);
void register_styles(nanobind::module_& module);

}  // namespace laneway::python
