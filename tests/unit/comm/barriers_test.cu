#include "barriers_suite.hpp"  // on GPUs
