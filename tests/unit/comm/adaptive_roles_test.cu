#include "adaptive_roles_suite.hpp"  // on GPUs
