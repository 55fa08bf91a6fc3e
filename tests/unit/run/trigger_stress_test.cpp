#include "trigger_stress_suite.hpp"
