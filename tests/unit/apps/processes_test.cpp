#include "processes_suite.hpp"  // on CPU devices
