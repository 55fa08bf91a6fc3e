#include "component_messages_suite.hpp"
