#include "cli/kind_command.h"

#include "cli/kind_watch.h"
#include "cli/output.h"
#include "cli/selector_input.h"
#include "lang/json.h"

static Str target_of(Arena *arena, const Kind *kind, Str name)
{
    Str before = arena_format(arena, "/v1/%s/", kind->plural);
    return cluster_target(arena, before.data, name);
}

/* --- Looking --------------------------------------------------------------------------------- */

int kind_run_list_as(Invocation *invocation, const Kind *kind, KindTable *table, const char *none)
{
    const Selector *selector;
    Value list;
    int code = selector_input_read(invocation, &selector);
    if (code != EXIT_OK) {
        return code;
    }
    if (invocation_flag(invocation, "watch")) {
        return kind_watch(invocation, kind, invocation_text(invocation, "selector"));
    }
    code = kind_fetch(invocation, kind, invocation_text(invocation, "selector"), &list);
    if (code != EXIT_OK) {
        return code;
    }
    uint32_t count = object_items(list)->len;
    if (!kind_print_value(invocation, list, &code)) {
        if (count > 0) {
            table(invocation, kind, object_items(list));
        } else if (selector == NULL) {
            stream_put_format(invocation->err, "%s\n", none);
        }
    }
    return code == EXIT_OK && count == 0 && selector != NULL
               ? selector_input_none(invocation, selector)
               : code;
}

int kind_run_list(Invocation *invocation, const Kind *kind)
{
    return kind_run_list_as(invocation, kind, kind_print_table, "there is none");
}

int kind_run_show(Invocation *invocation, const Kind *kind, Str name)
{
    Value object;
    int code = cluster_call(
        invocation,
        &(ClusterRequest){ .method = "GET", .target = target_of(invocation->arena, kind, name) },
        &object);
    if (code == EXIT_OK && !kind_print_value(invocation, object, &code)) {
        code = output_yaml(invocation, object);
    }
    return code;
}

/* --- Making ---------------------------------------------------------------------------------- */

static int create_one(Invocation *invocation, const Kind *kind, Value object)
{
    Value made;
    int code = cluster_call(
        invocation,
        &(ClusterRequest){ .method = "POST",
                           .target = arena_format(invocation->arena, "/v1/%s", kind->plural),
                           .body = cluster_body(invocation->arena, object) },
        &made);
    if (code == EXIT_OK && !kind_print_value(invocation, made, &code)) {
        output_line(invocation->out, "%" STR_FMT " is made", STR_ARG(object_name(made)));
    }
    return code;
}

int kind_run_create(Invocation *invocation, const Kind *kind)
{
    uint32_t count;
    const char **files = invocation_texts(invocation, "file", &count);
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    if (count == 0) {
        return usage_error(invocation, "'%s create' takes the object from --file FILE",
                           invocation->command->name);
    }
    for (uint32_t i = 0; i < count; i++) {
        List *documents;
        if (!inputs_load_all(&inputs, files[i], INPUT_CHECKED, &documents)) {
            return inputs_report(&inputs, invocation);
        }
        for (uint32_t k = 0; k < documents->len; k++) {
            AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
            Error err;
            if (!json_print(&text, documents->items[k], NULL, &err)) {
                return usage_error(invocation, "%s: %s", files[i], err.text);
            }
            int code = create_one(invocation, kind, documents->items[k]);
            if (code != EXIT_OK) {
                return code;
            }
        }
    }
    return EXIT_OK;
}

/* --- Changing -------------------------------------------------------------------------------- */

static bool read_json(const Invocation *invocation, Str field, Str text, Value *out)
{
    Error err;
    if (!json_parse_text(invocation->arena, text, NULL, out, &err)) {
        usage_error(invocation, "%" STR_FMT ":= takes JSON: %s", STR_ARG(field), err.text);
        return false;
    }
    return true;
}

static bool read_field(const Invocation *invocation, Str word, Map *spec)
{
    size_t equals = str_find(word, STR("="), 0);
    bool unset = equals == STR_NOT_FOUND && str_ends(word, STR("-"));
    bool is_json = equals != STR_NOT_FOUND && equals > 0 && word.data[equals - 1] == ':';
    Str field = str_slice(word, 0, unset ? word.len - 1 : is_json ? equals - 1 : equals);
    Value value = value_null();
    if ((equals == STR_NOT_FOUND && !unset) || field.len == 0) {
        usage_error(invocation,
                    "what is set is FIELD=VALUE, or FIELD- to unset it; not '%" STR_FMT "'",
                    STR_ARG(word));
        return false;
    }
    if (is_json && !read_json(invocation, field, str_from_offset(word, equals + 1), &value)) {
        return false;
    }
    if (!unset && !is_json) {
        value = value_string(str_from_offset(word, equals + 1));
    }
    map_set_str(invocation->arena, spec, field, value);
    return true;
}

int kind_run_set(Invocation *invocation, const Kind *kind, Str name)
{
    Arena *arena = invocation->arena;
    Map *spec = map_new(arena, 4), *body = map_new(arena, 1);
    Value object;
    bool asked;
    Error err;
    for (uint32_t i = 1; i < invocation->arg_count; i++) {
        if (!read_field(invocation, str_from_c(invocation->args[i]), spec)) {
            return EXIT_USAGE;
        }
    }
    map_set_str(arena, body, STR("spec"), value_map(spec));
    ClusterRequest request = { .method = "PATCH",
                               .target = target_of(arena, kind, name),
                               .body = cluster_body(arena, value_map(body)) };
    bool ok = cluster_ask(invocation, &request, &object, &asked, &err);
    if (!ok && asked && err.kind == ERROR_NOT_FOUND) {
        request.method = "PUT";
        ok = cluster_ask(invocation, &request, &object, &asked, &err);
    }
    if (!ok) {
        return cluster_tell(invocation, &err, asked);
    }
    int code;
    if (!kind_print_value(invocation, object, &code)) {
        Str text = kind_cell(arena, object, "spec", NULL);
        output_line(invocation->out, "%" STR_FMT ": %" STR_FMT, STR_ARG(name), STR_ARG(text));
    }
    return code;
}

int kind_run_delete(Invocation *invocation, const Kind *kind)
{
    int worst = EXIT_OK;
    for (uint32_t i = 1; i < invocation->arg_count; i++) {
        Value answer;
        Str name = str_from_c(invocation->args[i]);
        int code =
            cluster_call(invocation,
                         &(ClusterRequest){ .method = "DELETE",
                                            .target = target_of(invocation->arena, kind, name) },
                         &answer);
        if (code != EXIT_OK) {
            worst = code;
        } else if (output_wants_value(invocation)) {
            output_answer(invocation, answer);
        } else {
            stream_put_format(invocation->out, "%" STR_FMT " is deleted\n", STR_ARG(name));
        }
    }
    return worst;
}
