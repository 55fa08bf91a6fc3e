#include "transfers_suite.hpp"
