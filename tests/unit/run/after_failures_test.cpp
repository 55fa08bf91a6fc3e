#include "after_failures_suite.hpp"
