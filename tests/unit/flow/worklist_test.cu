#include "worklist_suite.hpp"  // on GPUs
