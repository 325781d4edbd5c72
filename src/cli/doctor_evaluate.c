#include "cli/doctor_evaluate.h"

#include "cli/doctor_evaluators.h"

DEFINE_ENUM_NAMES(DoctorState, doctor_state, [DOCTOR_OK] = "ok", [DOCTOR_WARNING] = "warning",
                  [DOCTOR_FAILED] = "failed", [DOCTOR_SKIPPED] = "skipped")

const DoctorCheck doctor_checks[CHECK_COUNT] = {
#define CHECK(constant, name, what, fix, docs, evaluate) \
    [CHECK_##constant] = { name, what, fix, docs, evaluate },
#include "cli/doctor_checks.def"
#undef CHECK
};

DoctorResult doctor_result(Arena *arena, DoctorState state, const char *format, ...)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    va_list args;
    va_start(args, format);
    buf_put_format_v(&text, format, args);
    va_end(args);
    return (DoctorResult){ .state = state, .text = buf_str(&text) };
}

DoctorResult doctor_fix(DoctorResult result, const char *fix)
{
    result.fix = fix;
    return result;
}

const char *doctor_key_fix(const DoctorCertificate *certificate, const char *lost)
{
    return certificate->is_exposed
               ? "chmod 600 the file if no one else has read it; otherwise create a new key"
               : lost;
}

DoctorResult doctor_certificate(Arena *arena, const DoctorCertificate *certificate, int64_t now_ms)
{
    Str until = utc_text(arena, certificate->certificate.not_after_ms);
    Str due = utc_text(arena, certificate->plan.due_ms);
    if (certificate->err.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_FAILED, "%s", certificate->err.text);
    }
    if (certificate->plan.state == RENEWAL_EXPIRED) {
        return doctor_result(arena, DOCTOR_FAILED, "expired on %" STR_FMT, STR_ARG(until));
    }
    if (certificate->plan.state == RENEWAL_EARLY) {
        Str from = utc_text(arena, certificate->certificate.not_before_ms),
            now = utc_text(arena, now_ms);
        return doctor_result(arena, DOCTOR_FAILED,
                             "valid from %" STR_FMT " on, but the clock here is at %" STR_FMT,
                             STR_ARG(from), STR_ARG(now));
    }
    if (certificate->trust.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_FAILED, "%s", certificate->trust.text);
    }
    if (certificate->plan.state == RENEWAL_DUE &&
        now_ms - certificate->plan.due_ms > DOCTOR_RENEWAL_LATE_MS) {
        return doctor_result(arena, DOCTOR_WARNING,
                             "should have been renewed on %" STR_FMT "; expires on %" STR_FMT,
                             STR_ARG(due), STR_ARG(until));
    }
    return doctor_result(arena, DOCTOR_OK, "valid until %" STR_FMT ", renewal due on %" STR_FMT,
                         STR_ARG(until), STR_ARG(due));
}
