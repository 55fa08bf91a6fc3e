#include "processes_suite.hpp"  // on GPUs
