#include "channel_graph_suite.hpp"
