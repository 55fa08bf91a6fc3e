#include "links_suite.hpp"  // on GPUs
