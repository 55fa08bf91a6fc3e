#include "service_copies_suite.hpp"  // on GPUs
