#include "md_suite.hpp"  // on GPUs
