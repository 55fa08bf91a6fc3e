#include "device_stream_suite.hpp"  // on GPUs
