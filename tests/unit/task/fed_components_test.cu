#include "fed_components_suite.hpp"  // on GPUs
