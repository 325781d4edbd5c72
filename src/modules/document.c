#include "modules/document.h"

#include "modules/file/edit.h"

static void tell_change(Call *call, const DocumentWish *wish, const DocumentChange *change,
                        bool hidden, Outcome *outcome)
{
    if (outcome->changed && !hidden) {
        outcome_change(call, outcome, "value", change->old,
                       wish->absent ? value_missing() : wish->value);
    }
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
                       err) ||
        !edit_end_text(&edit, change.text, value_holds_secret(wish.value), outcome, err)) {
        return false;
    }
    outcome->state = wish.absent ? STR("absent") : STR("present");
    tell_change(call, &wish, &change, edit.target->hidden, outcome);
    return true;
}
