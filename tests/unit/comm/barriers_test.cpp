#include "barriers_suite.hpp"
