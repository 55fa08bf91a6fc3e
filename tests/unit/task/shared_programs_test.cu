#include "shared_programs_suite.hpp"  // on GPUs
