#include "messaging_suite.hpp"
