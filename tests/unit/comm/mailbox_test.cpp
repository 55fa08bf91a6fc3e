#include "mailbox_suite.hpp"  // on CPU devices
