#include "transport_suite.hpp"  // on CPU devices
