#include "remote_payload_suite.hpp"  // on GPUs
