#include "components_suite.hpp"  // on GPUs
