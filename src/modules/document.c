#include "modules/document.h"

#include "modules/file/edit.h"

const ParamSpec document_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "the path of the file" },
    { "path", PARAM_ANY, .required = true,
      .help = "where it is in the file: 'server.port', '/server/port' or a list of keys" },
    { "value", PARAM_ANY, .decides = "value",
      .help = "what it is set to: text, number, list, map" },
    { "state", PARAM_STRING, .decides = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether it shall be in the file" },
    { "create", PARAM_BOOL, .fallback = "false", .help = "make the file when it is not there" },
    FILE_WRITE_PARAMS,
    { 0 },
};

void document_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, document_params, params, claims);
}

static void tell_change(Call *call, const DocumentWish *wish, const DocumentChange *change,
                        bool hidden, Outcome *outcome)
{
    if (outcome->changed && !hidden) {
        outcome_change(call, outcome, "value", change->old,
                       wish->absent ? value_missing() : wish->value);
    }
}

/* What is wrong with a file that not everybody may read is told without the words that are there. */
static bool hide_words(const Call *call, const Edit *edit, Error *err)
{
    Str text = arena_copy(call->arena, str_from_c(err->text));
    size_t first = str_find(text, STR("'"), 0), last = str_find_last(text, STR("'"));
    bool is_private =
        edit->target->before.kind == FILE_REGULAR && (edit->target->before.mode & S_IROTH) == 0;
    if (!is_private || edit->target->open || first == last) {
        return false;
    }
    return error_set(err, err->kind, "%" STR_FMT "(not shown)%" STR_FMT,
                     STR_ARG(str_slice(text, 0, first)), STR_ARG(str_from_offset(text, last + 1)));
}

bool document_check(Call *call, const DocumentFormat *format, Outcome *outcome, Error *err)
{
    DocumentWish wish = { .absent = str_eq(call_str(call, "state"), STR("absent")),
                          .value = call_param(call, "value") };
    DocumentChange change;
    Edit edit;
    if (!data_path_parse(call->arena, call_param(call, "path"), &wish.path, err) ||
        !document_wish_check(&wish, err) || !edit_begin(call, outcome, &edit, err)) {
        return false;
    }
    outcome->state = wish.absent ? STR("absent") : STR("present");
    if (edit.skipped) {
        return true;
    }
    if (!document_edit(call->arena, format, edit.target->path, edit.target->old, &wish, &change,
                       err)) {
        return hide_words(call, &edit, err);
    }
    if (!edit_end_text(&edit, change.text, value_holds_secret(wish.value), outcome, err)) {
        return false;
    }
    outcome->state = wish.absent ? STR("absent") : STR("present");
    tell_change(call, &wish, &change, edit.target->hidden, outcome);
    return true;
}
