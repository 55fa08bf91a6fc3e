#include "remote_misuse_suite.hpp"
