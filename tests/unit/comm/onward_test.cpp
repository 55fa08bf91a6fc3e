#include "onward_suite.hpp"
