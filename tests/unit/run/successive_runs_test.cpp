#include "successive_runs_suite.hpp"
