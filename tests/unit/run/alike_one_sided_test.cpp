#include "alike_one_sided_suite.hpp"
