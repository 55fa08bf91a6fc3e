// PageRank by residual push: see pagerank(), which calls it.
#pragma once

#include "pagerank.hpp"

namespace laneway::apps {

/// What pagerank() gives with `options.method` push; it has looked at all options of both methods.
pagerank_result push_ranks(const graph::graph& graph, const pagerank_options& options);
pagerank_result push_ranks(resident_graph& graph, const pagerank_options& options);

}  // namespace laneway::apps
