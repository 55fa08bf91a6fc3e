#include "work_together_suite.hpp"  // on GPUs
