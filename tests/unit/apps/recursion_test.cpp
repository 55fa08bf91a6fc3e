#include "recursion_suite.hpp"
