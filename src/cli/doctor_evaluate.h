/* Evaluates the data that doctor_inspect() has collected. Pure. */
#pragma once

#include "base/enum_names.h"
#include "cli/doctor_view.h"

typedef enum DoctorState {
    DOCTOR_OK,
    DOCTOR_WARNING, /* works now, but will fail eventually */
    DOCTOR_FAILED,
    DOCTOR_SKIPPED, /* could not be checked; the reason is in `text` */
} DoctorState;
DECLARE_ENUM_NAMES(DoctorState, doctor_state)

typedef struct DoctorResult {
    DoctorState state;
    Str text;        /* one line */
    const char *fix; /* NULL: use the fix of the check */
} DoctorResult;

typedef DoctorResult DoctorEvaluator(Arena *arena, const DoctorView *view);

typedef struct DoctorCheck {
    const char *name, *what, *fix, *docs;
    DoctorEvaluator *evaluate;
} DoctorCheck;

typedef enum DoctorCheckId {
#define CHECK(constant, name, what, fix, docs, evaluate) CHECK_##constant,
#include "cli/doctor_checks.def"
#undef CHECK
    CHECK_COUNT
} DoctorCheckId;

extern const DoctorCheck doctor_checks[CHECK_COUNT];
