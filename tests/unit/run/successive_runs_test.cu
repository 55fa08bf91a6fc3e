#include "successive_runs_suite.hpp"  // on GPUs
