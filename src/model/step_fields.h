/* The fields of steps['x'] and step in templates. */
#pragma once

#include "base/str.h"

typedef enum StepField {
    FIELD_STATE,
    FIELD_STDOUT,
    FIELD_STDERR,
    FIELD_EXIT_CODE,
    FIELD_CHANGED,
    FIELD_RESULT,
    FIELD_FILES,
    FIELD_RAW_STDOUT,
    FIELD_RAW_STDERR,
    FIELD_VALUE,
    FIELD_REASON,
    FIELD_ERROR,
    FIELD_NAME,
    FIELD_KEY,
    FIELD_ITEM,
    FIELD_ITEMS,
    FIELD_COUNT
} StepField;

extern const char *const step_field_names[FIELD_COUNT];

/* In any spelling: StdOut, stdout, std_out. FIELD_COUNT if there is none of that name. */
StepField step_field_find(Str name);
