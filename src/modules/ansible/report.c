#include "modules/ansible/report.h"

#include "base/buf.h"
#include "lang/json.h"

enum {
    FAILURES_SHOWN = 5,
    DIFF_MAX = 1 << 20
};

/* The host stands before it unless it is this one, a number behind it when it comes again. */
static Str task_name(Call *call, const Outcome *outcome, Value line)
{
    Str task = value_get_text(line, "task"), host = value_get_text(line, "host");
    Str name =
        str_eq_c(host, "localhost") || host.len == 0
            ? task
            : arena_format(call->arena, "%" STR_FMT ": %" STR_FMT, STR_ARG(host), STR_ARG(task));
    Str again = name;
    for (uint32_t i = 2; outcome->changes != NULL && map_find_str(outcome->changes, again) != NULL;
         i++) {
        again = arena_format(call->arena, "%" STR_FMT " (%u)", STR_ARG(name), i);
    }
    return again;
}

static void put_failure(Buf *failures, AnsibleReport *out, Str name, Value line)
{
    if (out->failed++ < FAILURES_SHOWN) {
        buf_put_format(
            failures, "%stask '%" STR_FMT "' %s: %" STR_FMT " (%" STR_FMT ")",
            out->failed > 1 ? "; " : "", STR_ARG(name),
            str_eq_c(value_get_text(line, "status"), "failed") ? "failed" : "cannot reach its host",
            STR_ARG(value_get_text(line, "message")), STR_ARG(value_get_text(line, "place")));
    }
}

static void read_line(Call *call, Value line, Outcome *outcome, AnsibleReport *out, Buf *diff,
                      Buf *failures)
{
    Str status = value_get_text(line, "status"), name = task_name(call, outcome, line);
    if (str_eq_c(status, "failed") || str_eq_c(status, "unreachable")) {
        put_failure(failures, out, name, line);
    }
    bool unasked = value_get_bool(line, "unasked") && str_eq_c(status, "skipped");
    if (!value_get_bool(line, "changed") && !unasked) {
        return;
    }
    out->changed++;
    out->unasked += unasked;
    outcome_change(call, outcome, arena_copy_c(call->arena, name), value_missing(),
                   value_string(value_get_text(line, "action")));
    buf_put(diff, value_get_text(line, "diff"));
}

bool ansible_report_read(Call *call, Str text, Outcome *outcome, AnsibleReport *out, Error *err)
{
    Buf diff = buf_make_in(call->arena, DIFF_MAX);
    Buf failures = buf_make_in(call->arena, BUF_UNLIMITED);
    *out = (AnsibleReport){ 0 };
    for (size_t end; (end = str_find(text, STR("\n"), 0)) != STR_NOT_FOUND;
         text = str_from_offset(text, end + 1)) {
        Value line;
        if (!json_parse_text(call->arena, str_slice(text, 0, end), NULL, &line, err)) {
            return error_wrap(err, "the report of Ansible cannot be read");
        }
        if (line.kind != VALUE_MAP) {
            return error_set(err, ERROR_INVALID,
                             "the report of Ansible holds something else than "
                             "results");
        }
        read_line(call, line, outcome, out, &diff, &failures);
    }
    if (out->failed > FAILURES_SHOWN) {
        buf_put_format(&failures, "; and %u more", out->failed - FAILURES_SHOWN);
    }
    out->failures = buf_str(&failures);
    outcome->diff = buf_str(&diff);
    return true;
}
