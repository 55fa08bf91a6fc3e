// pagerank: input, rounds, reference and check.
#pragma once

#include "styles/study.hpp"

namespace laneway::styles {

std::unique_ptr<study> open_pagerank(const study_options& options);

}  // namespace laneway::styles
