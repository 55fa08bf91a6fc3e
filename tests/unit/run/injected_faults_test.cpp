#include "injected_faults_suite.hpp"
