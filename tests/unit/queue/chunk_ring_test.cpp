#include "chunk_ring_suite.hpp"  // on CPU devices
