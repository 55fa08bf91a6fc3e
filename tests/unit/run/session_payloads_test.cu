#include "session_payloads_suite.hpp"  // on GPUs
