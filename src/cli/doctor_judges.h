/* Between the files of the judges. */
#pragma once

#include "base/utc.h"
#include "cli/doctor_judge.h"

#define DOCTOR_RENEWAL_LATE_MS ((int64_t)24 * 3600 * 1000) /* behind the moment to renew */

#define CHECK(constant, name, what, fix, docs, judge) DoctorJudge judge;
#include "cli/doctor_checks.def"
#undef CHECK

PRINTF_LIKE(3, 4)
DoctorResult doctor_say(Arena *arena, DoctorState state, const char *format, ...);
/* With something else to do than the check has. */
DoctorResult doctor_fix(DoctorResult result, const char *fix);
/* What to do about a file with a key that is not taken; `lost` when it is not there or damaged. */
const char *doctor_key_fix(const DoctorCertificate *seen, const char *lost);
/* What goes for any certificate. */
DoctorResult doctor_certificate(Arena *arena, const DoctorCertificate *seen, int64_t now_ms);
