#include "routed_components_suite.hpp"  // on GPUs
