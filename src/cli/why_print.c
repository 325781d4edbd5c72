#include "base/visible.h"
#include "cli/why.h"
#include "lang/json.h"

enum {
    VALUE_WIDTH = 200, /* maximum length of a printed value, in bytes */
    OUTPUT_SHOWN = 2000
};

static void put_title(Buf *out, const char *title)
{
    buf_put_format(out, "\n%s\n", title);
}

/* "  jobs/web.yaml:12" */
static void put_location(Buf *out, Value of)
{
    Str file = value_get_text(of, "file");
    const Value *line = value_get(of, STR("line"));
    if (file.len == 0) {
        return;
    }
    buf_put(out, STR("  "));
    visible_put(out, file);
    if (line != NULL && line->kind == VALUE_INT) {
        buf_put_format(out, ":%lld", (long long)line->integer);
    }
}

/* Returns the value as JSON on one line, truncated. */
static void put_value(Buf *out, Value value)
{
    Error err;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    const JsonStyle style = { .spaced = true, .allow_nan = true };
    if (!json_print(&text, value, &style, &err)) {
        return;
    }
    visible_put(out, str_slice(buf_str(&text), 0, VALUE_WIDTH));
    if (text.len > VALUE_WIDTH) {
        buf_put(out, STR(" ..."));
    }
}

static void put_lines(Buf *out, Str text, Str indent)
{
    for (Str line; text.len > 0 && str_split_next(&text, '\n', &line);) {
        buf_put(out, indent);
        visible_put(out, line);
        buf_put_char(out, '\n');
    }
}

/* "run 20260131T081530.250-3f2a on web1, site /srv/site" */
static void put_run(Buf *out, Value why)
{
    buf_put(out, STR("run "));
    visible_put(out, value_get_text(why, "run"));
    buf_put(out, STR(" on "));
    visible_put(out, value_get_text(why, "node"));
    const Value *site = value_get(why, STR("site"));
    if (site != NULL) {
        buf_put(out, STR(", site "));
        visible_put(out, value_get_text(*site, "path"));
    }
    buf_put_char(out, '\n');
}

static void put_head(Buf *out, Value why)
{
    visible_put(out, value_get_text(why, "step"));
    buf_put(out, STR("  "));
    visible_put(out, value_get_text(why, "action"));
    buf_put(out, STR("  "));
    visible_put(out, value_get_text(why, "result"));
    put_location(out, why);
    buf_put_char(out, '\n');
    put_run(out, why);
}

static void put_chain(Buf *out, Value why)
{
    const List *chain = value_get_list(why, "chain");
    put_title(out, "Why");
    for (uint32_t i = 0; i < chain->len; i++) {
        Value link = chain->items[i];
        buf_put(out, i == 0 ? STR("  ") : STR("  <- "));
        visible_put(out, value_get_text(link, "step"));
        buf_put_char(out, ' ');
        visible_put(out, value_get_text(link, "text"));
        put_location(out, link);
        buf_put_char(out, '\n');
    }
    Str reaction = value_get_text(why, "reaction");
    if (reaction.len > 0) {
        buf_put(out, STR("  it reacted at the end because "));
        visible_put(out, reaction);
        buf_put_char(out, '\n');
    }
}

static void put_suggestion(Buf *out, Value of, const char *indent)
{
    const List *ask = value_get_list(of, "ask");
    for (uint32_t i = 0; i < ask->len; i++) {
        buf_put(out, i == 0 ? str_from_c(indent) : STR(", "));
        buf_put(out, i == 0 ? STR("ask: ") : STR_EMPTY);
        visible_put(out, value_str(ask->items[i]));
    }
    if (ask->len > 0) {
        buf_put_char(out, '\n');
    }
}

static void put_conditions(Buf *out, Value why)
{
    const List *conditions = value_get_list(why, "conditions");
    if (conditions->len > 0) {
        put_title(out, "Conditions");
    }
    for (uint32_t i = 0; i < conditions->len; i++) {
        Value condition = conditions->items[i];
        const Value *times = value_get(condition, STR("times"));
        buf_put(out, STR("  "));
        visible_put(out, value_get_text(condition, "condition"));
        buf_put(out, STR(": "));
        Str text = value_get_text(condition, "text");
        visible_put(out, text.len > 0 ? text : STR("(a constant)"));
        buf_put(out, STR(" -> "));
        visible_put(out, value_get_text(condition, "answer"));
        if (times != NULL && times->integer > 1) {
            buf_put_format(out, ", evaluated %lld times", (long long)times->integer);
        }
        buf_put_char(out, '\n');
        put_suggestion(out, condition, "    ");
    }
}

static void put_requisites(Buf *out, Value why)
{
    const List *requisites = value_get_list(why, "requisites");
    if (requisites->len > 0) {
        put_title(out, "Depends on");
    }
    for (uint32_t i = 0; i < requisites->len; i++) {
        Value edge = requisites->items[i];
        Str origin = value_get_text(edge, "origin");
        const Value *decided = value_get(edge, STR("decided"));
        buf_put(out, STR("  "));
        visible_put(out, value_get_text(edge, "kind"));
        buf_put_char(out, ' ');
        visible_put(out, value_get_text(edge, "step"));
        buf_put(out, STR(": "));
        visible_put(out, value_get_text(edge, "result"));
        if (decided != NULL && decided->boolean) {
            buf_put(out, STR(", decided"));
        }
        bool in = str_eq(origin, STR("written in"));
        if (in || str_eq(origin, STR("written"))) {
            put_location(out, edge);
            buf_put(out, in ? STR(" (as _in, there)") : STR_EMPTY);
        } else {
            buf_put(out, STR("  ("));
            visible_put(out, origin);
            buf_put(out, STR(": "));
            visible_put(out, value_get_text(edge, "detail"));
            buf_put_char(out, ')');
        }
        buf_put_char(out, '\n');
    }
}

static void put_parameters(Buf *out, Value why)
{
    const List *params = value_get_list(why, "parameters");
    if (params->len > 0) {
        put_title(out, "Parameters");
    }
    for (uint32_t i = 0; i < params->len; i++) {
        Value param = params->items[i];
        const Value *value = value_get(param, STR("value"));
        const Value *bytes = value_get(param, STR("bytes"));
        const Value *written = value_get(param, STR("template"));
        buf_put(out, STR("  "));
        visible_put(out, value_get_text(param, "name"));
        buf_put(out, STR(": "));
        if (value != NULL) {
            put_value(out, *value);
        } else if (bytes != NULL && bytes->kind == VALUE_INT) {
            buf_put_format(out, "(%lld bytes of source)", (long long)bytes->integer);
        } else {
            buf_put(out, STR("(not evaluated)"));
        }
        put_location(out, param);
        buf_put_char(out, '\n');
        if (written != NULL) {
            buf_put(out, STR("    from: "));
            put_value(out, *written);
            buf_put_char(out, '\n');
        }
        put_suggestion(out, param, "    ");
    }
}

static void put_owed(Buf *out, Value why)
{
    const List *owed = value_get_list(why, "owed");
    for (uint32_t i = 0; i < owed->len; i++) {
        if (value_is_string(owed->items[i])) {
            buf_put(out, i == 0 ? STR("\nOwed from an earlier run: ") : STR(", "));
            visible_put(out, value_str(owed->items[i]));
        }
    }
    if (owed->len > 0) {
        buf_put_char(out, '\n');
    }
}

static void put_diff(Buf *out, Value why)
{
    Str text = value_get_text(why, "diff");
    if (text.len > 0) {
        put_title(out, "Diff");
        put_lines(out, str_slice(text, 0, OUTPUT_SHOWN), STR("  "));
        if (text.len > OUTPUT_SHOWN) {
            buf_put(out, STR("  ... (-o json shows all)\n"));
        }
    }
}

/* Prints the end of a command's output, where errors usually are. */
static void put_output(Buf *out, Value why, const char *key, const char *title)
{
    Str text = value_get_text(why, key);
    if (text.len == 0) {
        return;
    }
    put_title(out, title);
    if (text.len > OUTPUT_SHOWN) {
        buf_put(out, STR("  ... (last lines; -o json shows all)\n"));
        text = str_from_offset(text, text.len - OUTPUT_SHOWN);
        size_t line = str_find(text, STR("\n"), 0);
        text =
            line == STR_NOT_FOUND || line + 1 == text.len ? text : str_from_offset(text, line + 1);
    }
    put_lines(out, text, STR("  "));
}

static void put_changes(Buf *out, Value why)
{
    const Value *changes = value_get(why, STR("changes"));
    if (changes == NULL || changes->kind != VALUE_MAP) {
        return;
    }
    put_title(out, "Changes");
    for (uint32_t i = 0; i < changes->map->len; i++) {
        buf_put(out, STR("  "));
        if (value_is_string(changes->map->entries[i].key)) {
            visible_put(out, value_str(changes->map->entries[i].key));
        }
        buf_put(out, STR(": "));
        put_value(out, changes->map->entries[i].value);
        buf_put_char(out, '\n');
    }
}

void why_print(Value why, Buf *out)
{
    put_head(out, why);
    put_chain(out, why);
    put_conditions(out, why);
    put_requisites(out, why);
    put_owed(out, why);
    put_parameters(out, why);
    put_changes(out, why);
    put_diff(out, why);
    put_output(out, why, "stdout", "Standard output");
    put_output(out, why, "stderr", "Standard error");
}

/* Prints "web#x  cmd.run  failed: exited with 3 (E0601)  jobs/web.yaml:12", and its root cause. */
static void put_bad_step(Buf *out, Value step)
{
    visible_put(out, value_get_text(step, "step"));
    buf_put(out, STR("  "));
    visible_put(out, value_get_text(step, "action"));
    buf_put_char(out, ' ');
    visible_put(out, value_get_text(step, "text"));
    put_location(out, step);
    buf_put_char(out, '\n');
    const Value *root = value_get(step, STR("root"));
    if (root != NULL) {
        buf_put(out, STR("  <- "));
        visible_put(out, value_get_text(*root, "step"));
        buf_put_char(out, ' ');
        visible_put(out, value_get_text(*root, "text"));
        put_location(out, *root);
        buf_put_char(out, '\n');
    }
}

void why_run_print(Value why, Buf *out)
{
    const List *steps = value_get_list(why, "steps");
    const Value *counts = value_get(why, STR("counts"));
    put_run(out, why);
    for (uint32_t i = 0; i < steps->len; i++) {
        put_bad_step(out, steps->items[i]);
    }
    const char *between = "";
    for (uint32_t i = 0; i < counts->map->len; i++) {
        const MapEntry *entry = &counts->map->entries[i];
        if (entry->value.integer > 0) {
            buf_put_format(out, "%s%lld %" STR_FMT, between, (long long)entry->value.integer,
                           STR_ARG(value_str(entry->key)));
            between = ", ";
        }
    }
    buf_put(out, steps->len > 0 ? STR("; see 'eden why STEP' for details\n") : STR("\n"));
}
