#include "timeline_suite.hpp"  // on GPUs
