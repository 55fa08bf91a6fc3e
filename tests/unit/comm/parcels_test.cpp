#include "parcels_suite.hpp"
