#include "study_suite.hpp"  // on CPU devices
