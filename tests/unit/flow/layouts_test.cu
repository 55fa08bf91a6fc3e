#include "layouts_suite.hpp"  // on GPUs
