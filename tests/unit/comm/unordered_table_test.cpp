#include "unordered_table_suite.hpp"  // on CPU devices
