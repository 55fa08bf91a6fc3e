#include "triggers_suite.hpp"  // on GPUs
