#include "waves_suite.hpp"  // on GPUs
