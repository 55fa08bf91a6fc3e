#include "recursion_memory_suite.hpp"
