#include "mailbox_suite.hpp"  // on GPUs
