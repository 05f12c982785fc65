// Cause: Nothing is wrong: eight workers wait most of the time for one job a second, which each takes some hundred microseconds.
// Right: none
// Args: 1
#define JOB 50000
#include "steady_jobs.h"
