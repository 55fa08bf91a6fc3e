#include "triggers_misuse_suite.hpp"
