#include "messaging_suite.hpp"  // on GPUs
