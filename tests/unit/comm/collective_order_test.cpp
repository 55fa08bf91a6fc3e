#include "collective_order_suite.hpp"
