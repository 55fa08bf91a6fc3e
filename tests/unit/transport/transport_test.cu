#include "transport_suite.hpp"  // on GPUs
