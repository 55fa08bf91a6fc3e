#include "remote_queue_suite.hpp"
