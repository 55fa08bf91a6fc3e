#include "transfer_misuse_suite.hpp"  // on GPUs
#include "transfer_scheduling_suite.hpp"
#include "transfers_suite.hpp"
