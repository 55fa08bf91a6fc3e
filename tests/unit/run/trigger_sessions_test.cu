#include "trigger_sessions_suite.hpp"  // on GPUs
