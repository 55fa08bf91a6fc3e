#include "device_stream_suite.hpp"
