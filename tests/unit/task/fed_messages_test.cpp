#include "fed_messages_suite.hpp"
