#include "rendezvous_suite.hpp"
