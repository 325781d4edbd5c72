/* Shared by the evaluators. */
#pragma once

#include "base/utc.h"
#include "cli/doctor_evaluate.h"

#define DOCTOR_RENEWAL_LATE_MS ((int64_t)24 * 3600 * 1000) /* grace period after the renewal time */

#define CHECK(constant, name, what, fix, docs, evaluate) DoctorEvaluator evaluate;
#include "cli/doctor_checks.def"
#undef CHECK

PRINTF_LIKE(3, 4)
DoctorResult doctor_result(Arena *arena, DoctorState state, const char *format, ...);
/* Replaces the fix of the check. */
DoctorResult doctor_fix(DoctorResult result, const char *fix);
/* Returns the fix for a rejected key file; if the file is missing or damaged, that is `lost`. */
const char *doctor_key_fix(const DoctorCertificate *certificate, const char *lost);
/* Evaluates any certificate. */
DoctorResult doctor_certificate(Arena *arena, const DoctorCertificate *certificate, int64_t now_ms);
