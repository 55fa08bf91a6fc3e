#include "session_faults_suite.hpp"  // on CPU devices
