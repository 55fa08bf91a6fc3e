#include "study_suite.hpp"  // on GPUs
