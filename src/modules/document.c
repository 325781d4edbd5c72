#include "modules/document.h"

#include "modules/file/edit.h"

const ParamSpec document_params[] = {
    { "name", PARAM_FILE, .required = true, .help = "path of the file" },
    { "path", PARAM_ANY, .required = true,
      .help = "path of the value in the file: 'server.port', '/server/port' or a list of keys" },
    { "value", PARAM_ANY, .aspect = "value", .help = "value to set: string, number, list or map" },
    { "state", PARAM_STRING, .aspect = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether it should be in the file" },
    { "create", PARAM_BOOL, .fallback = "false", .help = "create the file if it does not exist" },
    FILE_WRITE_PARAMS,
    { 0 },
};

void document_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, document_params, params, claims);
}

static void report_change(Call *call, const DocumentRequest *request, const DocumentChange *change,
                          bool hidden, Outcome *outcome)
{
    if (outcome->changed && !hidden) {
        outcome_change(call, outcome, "value", change->old,
                       request->absent ? value_missing() : request->value);
    }
}

/* Errors in a file that is not world-readable are reported without quoting its content. */
static bool hide_content(const Call *call, const Edit *edit, Error *err)
{
    Str text = arena_copy(call->arena, str_from_c(err->text));
    size_t first = str_find(text, STR("'"), 0), last = str_find_last(text, STR("'"));
    bool is_private =
        edit->target->before.kind == FILE_REGULAR && (edit->target->before.mode & S_IROTH) == 0;
    if (!is_private || edit->target->shows_diff || first == last) {
        return false;
    }
    return error_set(err, err->kind, "%" STR_FMT "(not shown)%" STR_FMT,
                     STR_ARG(str_slice(text, 0, first)), STR_ARG(str_from_offset(text, last + 1)));
}

static bool verify_params(Call *call, Error *err)
{
    DocumentRequest request = { .absent = str_eq(call_str(call, "state"), STR("absent")),
                                .value = call_param(call, "value") };
    return (data_path_parse(call->arena, call_param(call, "path"), &request.path, err) ||
            call_blame(call, "path")) &&
           document_request_check(&request, err);
}

bool document_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                     Error *err)
{
    return call_verify(arena, action, params, verify_params, at, err);
}

bool document_check(Call *call, const DocumentFormat *format, Outcome *outcome, Error *err)
{
    DocumentRequest request = { .absent = str_eq(call_str(call, "state"), STR("absent")),
                                .value = call_param(call, "value") };
    DocumentChange change;
    Edit edit;
    if (!data_path_parse(call->arena, call_param(call, "path"), &request.path, err) ||
        !document_request_check(&request, err) || !edit_begin(call, outcome, &edit, err)) {
        return false;
    }
    outcome->state = request.absent ? STR("absent") : STR("present");
    if (edit.skipped) {
        return true;
    }
    if (!document_edit(call->arena, format, edit.target->path, edit.target->old, &request, &change,
                       err)) {
        return hide_content(call, &edit, err);
    }
    if (!edit_end_text(&edit, change.text, value_holds_secret(request.value), outcome, err)) {
        return false;
    }
    outcome->state = request.absent ? STR("absent") : STR("present");
    report_change(call, &request, &change, edit.target->hides_content, outcome);
    return true;
}
