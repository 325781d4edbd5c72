#include "cli/subject_action.h"

#include "cli/help_text.h"
#include "modules/modules.h"

enum {
    NAME_COLUMN = 16,
    KIND_COLUMN = 42,
};

void subjects_add_actions(Arena *arena, Subjects *out)
{
    for (ModuleTable table = modules; *table != NULL; table++) {
        for (const Action *action = (*table)->actions; action->name != NULL; action++) {
            Subject subject = { .kind = SUBJECT_ACTION,
                                .name = arena_format(arena, "%s.%s", (*table)->name, action->name),
                                .action = action };
            VEC_PUSH(arena, out, subject);
        }
    }
}

/* Properties of an action, as sentences. */
typedef struct Property {
    bool (*applies)(const Action *action);
    const char *name; /* key in JSON */
    const char *text;
} Property;

static bool can_react(const Action *action)
{
    return action->react != NULL;
}
static bool can_query(const Action *action)
{
    return action->query != NULL;
}
static bool is_repeated(const Action *action)
{
    return action->always_changes;
}

static const Property properties[] = {
    { can_react, "reacts", "Reacts to changes in the steps that it watches or listens to." },
    { can_query, "answers", "Can be used as a macro." },
    { is_repeated, "repeats", "Runs every time, unless a condition or requisite prevents it." },
};

static void put_properties(const Action *action, Buf *out)
{
    for (size_t i = 0; i < COUNT_OF(properties); i++) {
        if (properties[i].applies(action)) {
            buf_put_format(out, "%s\n", properties[i].text);
        }
    }
}

static bool has_properties(const Action *action)
{
    bool any = false;
    for (size_t i = 0; i < COUNT_OF(properties); i++) {
        any = any || properties[i].applies(action);
    }
    return any;
}

/* Appends "text, required", "file mode, 0644 unless given", "started or stopped". */
static void put_kind(const ParamSpec *spec, Buf *out)
{
    if (spec->choices != NULL) {
        Str rest = str_from_c(spec->choices);
        Str choice;
        for (bool first = true; str_split_next(&rest, '|', &choice); first = false) {
            buf_put_format(out, "%s%" STR_FMT, first ? "" : " or ", STR_ARG(choice));
        }
    } else {
        buf_put_c(out, param_kind_name(spec->kind));
    }
    if (spec->required) {
        buf_put_c(out, ", required");
    } else if (spec->fallback != NULL && spec->fallback[0] != '\0') {
        buf_put_format(out, ", default: %s", spec->fallback);
    }
}

static void pad(size_t column, size_t start, Buf *out)
{
    size_t used = out->len - start;
    buf_put_repeat(out, ' ', used < column ? column - used : 2);
}

static const ParamSpec *params_of(const Action *action)
{
    static const ParamSpec none[] = { { 0 } };
    return action->params == NULL ? none : action->params;
}

void subject_action_text(const Subject *subject, Buf *out)
{
    const Action *action = subject->action;
    buf_put_format(out, "action %" STR_FMT "\n\n    %s\n", STR_ARG(subject->name), action->help);
    buf_put_c(out, params_of(action)->name == NULL ? "" : "\nparameters:\n");
    for (const ParamSpec *spec = params_of(action); spec->name != NULL; spec++) {
        size_t start = out->len;
        buf_put_format(out, "  %s", spec->name);
        pad(NAME_COLUMN, start, out);
        put_kind(spec, out);
        if (out->len - start + 2 > KIND_COLUMN) { /* too long: start the help on the next line */
            buf_put_char(out, '\n');
            start = out->len;
        }
        pad(KIND_COLUMN, start, out);
        buf_put_format(out, "%s\n", spec->help);
    }
    if (action->text != NULL) {
        buf_put_format(out, "\n%s", action->text);
    }
    if (has_properties(action)) {
        buf_put_char(out, '\n');
        put_properties(action, out);
    }
    if (action->example != NULL) {
        buf_put_c(out, "\nexample:\n");
        help_write_indented(str_from_c(action->example), "    ", out);
    }
}

void subject_action_markdown(const Subject *subject, Buf *out)
{
    const Action *action = subject->action;
    buf_put_format(out, "%s\n\n", action->help);
    if (params_of(action)->name != NULL) {
        buf_put_c(out, "| parameter | type | description | |--|--|--|\n");
    }
    for (const ParamSpec *spec = params_of(action); spec->name != NULL; spec++) {
        buf_put_format(out, "| `%s` | ", spec->name);
        put_kind(spec, out);
        buf_put_format(out, " | %s |\n", spec->help);
    }
    buf_put_char(out, '\n');
    if (action->text != NULL) {
        buf_put_format(out, "%s\n", action->text);
    }
    if (has_properties(action)) {
        put_properties(action, out);
        buf_put_char(out, '\n');
    }
    if (action->example != NULL) {
        buf_put_format(out, "```yaml\n%s```\n\n", action->example);
    }
}

static Value text_or_null(const char *text)
{
    return text == NULL ? value_null() : value_string(str_from_c(text));
}

void subject_action_describe(Arena *arena, const Subject *subject, Map *map)
{
    const Action *action = subject->action;
    map_set_str(arena, map, STR("help"), text_or_null(action->help));
    map_set_str(arena, map, STR("text"), text_or_null(action->text));
    List *params = list_new(arena, 8);
    for (const ParamSpec *spec = params_of(action); spec->name != NULL; spec++) {
        Map *param = map_new(arena, 6);
        map_set_str(arena, param, STR("name"), text_or_null(spec->name));
        map_set_str(arena, param, STR("kind"), text_or_null(param_kind_name(spec->kind)));
        map_set_str(arena, param, STR("required"), value_bool(spec->required));
        map_set_str(arena, param, STR("default"), text_or_null(spec->fallback));
        List *choices = list_new(arena, 4);
        Str rest = str_from_c(spec->choices);
        Str choice;
        while (str_split_next(&rest, '|', &choice)) {
            list_push(arena, choices, value_string(choice));
        }
        map_set_str(arena, param, STR("choices"),
                    spec->choices == NULL ? value_null() : value_list(choices));
        map_set_str(arena, param, STR("help"), text_or_null(spec->help));
        list_push(arena, params, value_map(param));
    }
    map_set_str(arena, map, STR("parameters"), value_list(params));
    for (size_t i = 0; i < COUNT_OF(properties); i++) {
        map_set_str(arena, map, str_from_c(properties[i].name),
                    value_bool(properties[i].applies(action)));
    }
    map_set_str(arena, map, STR("example"), text_or_null(action->example));
}
