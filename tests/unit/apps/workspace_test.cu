#include "workspace_suite.hpp"  // on GPUs
