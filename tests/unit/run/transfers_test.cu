#include "transfers_suite.hpp"  // on GPUs
