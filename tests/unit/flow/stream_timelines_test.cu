#include "stream_timelines_suite.hpp"  // on GPUs
