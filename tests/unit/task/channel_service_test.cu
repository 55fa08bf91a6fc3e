#include "channel_service_suite.hpp"
