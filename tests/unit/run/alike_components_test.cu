#include "alike_components_suite.hpp"  // on GPUs
