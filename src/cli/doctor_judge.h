/* Whether what was seen is well. Pure. */
#pragma once

#include "base/enum_names.h"
#include "cli/doctor_view.h"

typedef enum DoctorState {
    DOCTOR_OK,
    DOCTOR_WARNING, /* it works, and will not for ever */
    DOCTOR_FAILED,
    DOCTOR_SKIPPED, /* nothing can be said; the text says why */
} DoctorState;
DECLARE_ENUM_NAMES(DoctorState, doctor_state)

typedef struct DoctorResult {
    DoctorState state;
    Str text;        /* one line */
    const char *fix; /* NULL: as the check has it */
} DoctorResult;

typedef DoctorResult DoctorJudge(Arena *arena, const DoctorView *view);

typedef struct DoctorCheck {
    const char *name, *what, *fix, *docs;
    DoctorJudge *judge;
} DoctorCheck;

typedef enum DoctorCheckId {
#define CHECK(constant, name, what, fix, docs, judge) CHECK_##constant,
#include "cli/doctor_checks.def"
#undef CHECK
    CHECK_COUNT
} DoctorCheckId;

extern const DoctorCheck doctor_checks[CHECK_COUNT];
