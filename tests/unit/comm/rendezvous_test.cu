#include "rendezvous_suite.hpp"  // on GPUs
