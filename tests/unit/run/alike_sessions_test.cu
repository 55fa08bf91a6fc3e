#include "alike_sessions_suite.hpp"  // on GPUs
