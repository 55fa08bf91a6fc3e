#include "channel_suite.hpp"  // on GPUs
