#include "worklist_suite.hpp"  // on CPU devices
