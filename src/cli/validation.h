/* Checks files and directories for `eden validate` and `eden push`. */
#pragma once

#include "cli/inputs.h"

enum {
    VALIDATION_SKIPPED_MAX = 5
};

/* Files that were checked, and those that were skipped in directories. */
typedef struct Validation {
    Inputs inputs;
    const char *trust; /* see site_check.h */
    uint32_t count;
    /* number of named files that are neither templates nor steps */
    uint32_t data_count;
    uint32_t skipped_count;
    Str skipped[VALIDATION_SKIPPED_MAX];
} Validation;

/* Checks a file, or everything in a directory; adds problems to the inputs. */
void validation_check(Validation *validation, const char *path);
