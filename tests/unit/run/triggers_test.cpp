#include "triggers_suite.hpp"
