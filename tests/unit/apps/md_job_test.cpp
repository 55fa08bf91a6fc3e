#include "md_job_suite.hpp"  // on CPU devices
