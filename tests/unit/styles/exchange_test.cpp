#include "exchange_suite.hpp"  // on CPU devices
