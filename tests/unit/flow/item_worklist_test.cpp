#include "item_worklist_suite.hpp"  // on CPU devices
