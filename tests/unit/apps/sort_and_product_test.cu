#include "sort_and_product_suite.hpp"
