#include "jacobi_suite.hpp"
