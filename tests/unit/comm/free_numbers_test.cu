#include "free_numbers_suite.hpp"  // on GPUs
