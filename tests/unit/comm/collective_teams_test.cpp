#include "collective_teams_suite.hpp"
