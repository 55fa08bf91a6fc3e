#include "communication_styles_suite.hpp"  // on GPUs
