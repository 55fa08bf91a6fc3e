#include "remote_misuse_suite.hpp"  // on GPUs
