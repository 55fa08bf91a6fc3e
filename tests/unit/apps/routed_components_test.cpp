#include "routed_components_suite.hpp"  // on CPU devices
