#define _GNU_SOURCE
#include "programs.h"

#include <stdlib.h>
#include <string.h>

const char *platform_environment(const char *name) { return getenv(name); }

const char *platform_error_text(int32_t error) { return strerror(error); }
