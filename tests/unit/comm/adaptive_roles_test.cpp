#include "adaptive_roles_suite.hpp"  // on CPU devices
