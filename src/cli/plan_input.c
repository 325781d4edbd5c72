#include "cli/plan_input.h"

#include "base/buf.h"
#include "base/shell.h"
#include "run/plan_file.h"
#include "sys/file.h"

enum {
    PLAN_MAX = 256 << 20 /* size limit of a saved plan, in bytes */
};

/* PATH may be a saved plan, which takes the place of the options. */
static bool read_plan(const Invocation *invocation, bool checks_owner, RunConfig *config,
                      Value *plan, bool *found, Error *err)
{
    Arena *arena = invocation->arena;
    Str text;
    *found = false;
    if (file_is_directory(config->path) ||
        !file_read_head(arena, config->path, PLAN_FILE_HEAD, &text, err) || !plan_file_is(text)) {
        return true; /* a site, or an error that will be reported later */
    }
    bool read = checks_owner ? file_read_trusted(arena, config->path, PLAN_MAX, &text, err)
                             : file_read(arena, config->path, PLAN_MAX, &text, err);
    if (!read) {
        return err->kind != ERROR_DENIED;
    }
    *found = true;
    return plan_file_config(arena, text, plan, config, err);
}

static bool is_omitted(Value plan, Str name)
{
    const List *omitted = value_get_list(plan, "withheld");
    for (uint32_t i = 0; i < omitted->len; i++) {
        if (str_eq(value_str(omitted->items[i]), name)) {
            return true;
        }
    }
    return false;
}

static bool is_define(const GivenOption *given)
{
    return strcmp(given->option->name, "define") == 0;
}

/* Whether the option equals the plan's list; true if the option was not given. */
static bool is_same_list(const Invocation *invocation, const char *option, bool path, Value plan,
                         const char *key)
{
    Value planned = *value_get(plan, str_from_c(key));
    uint32_t count = 0;
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        const GivenOption *given = &invocation->given[i];
        if (strcmp(given->option->name, option) != 0 ||
            (is_define(given) && is_omitted(plan, define_name(str_from_c(given->value))))) {
            continue;
        }
        Value one = value_is_sequence(planned) && count < planned.list->len
                        ? planned.list->items[count]
                        : planned;
        Str value =
            path ? file_absolute(invocation->arena, given->value) : str_from_c(given->value);
        if (!value_is_string(one) || !str_eq(value_str(one), value)) {
            return false;
        }
        count++;
    }
    return count == 0 || !value_is_sequence(planned) || count == planned.list->len;
}

/* A plan was made for one root, one node and one set of values. Different ones on the command line
 * are an error. */
static bool agrees_with_plan(const Invocation *invocation, Value plan)
{
    static const struct {
        const char *option, *key;
        bool path;
    } decided[] = {
        { "root", "root", true },
        { "state-dir", "state_dir", true },
        { "config-dir", "config_dir", true },
        { "node", "node", false },
        { "order", "order", false },
        { "job", "jobs", false },
        { "label", "labels", false },
        { "vars", "vars", true },
        { "define", "defines", false },
    };
    for (size_t i = 0; i < COUNT_OF(decided); i++) {
        if (!is_same_list(invocation, decided[i].option, decided[i].path, plan, decided[i].key)) {
            usage_error(invocation,
                        "--%s differs from the saved plan; omit it, or create a new plan",
                        decided[i].option);
            return false;
        }
    }
    return true;
}

static bool is_given(const Invocation *invocation, Str name)
{
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        const GivenOption *given = &invocation->given[i];
        if (is_define(given) && str_eq(define_name(str_from_c(given->value)), name)) {
            return true;
        }
    }
    return false;
}

bool plan_input_complete(const Invocation *invocation, Value plan, RunConfig *config)
{
    const List *omitted = value_get_list(plan, "withheld");
    for (uint32_t i = 0; i < omitted->len; i++) {
        Str name = value_str(omitted->items[i]);
        if (!is_given(invocation, name)) {
            usage_error(invocation,
                        "the saved plan does not contain the secret '%" STR_FMT
                        "': pass it again with -D",
                        STR_ARG(name));
            return false;
        }
    }
    uint32_t count = config->define_count;
    const char **defines =
        ARENA_ARRAY(invocation->arena, const char *, count + invocation->given_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        defines[i] = config->defines[i];
    }
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        const GivenOption *given = &invocation->given[i];
        if (is_define(given) && is_omitted(plan, define_name(str_from_c(given->value)))) {
            defines[count++] = given->value;
        }
    }
    config->defines = defines;
    config->define_count = count;
    return true;
}

/* A plan determines for which node and with which values the site is applied, so it must come from
 * a trusted user. */
static int refuse_untrusted(Invocation *invocation, const char *path, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    Problem *problem = problems_add(&inputs.problems, "E0724", NULL, 0, 0,
                                    "the saved plan is not trusted: %s", err->text);
    Buf word = buf_make_in(invocation->arena, BUF_UNLIMITED);
    shell_put_word(&word, str_from_c(path));
    problem->hint = arena_format(invocation->arena,
                                 "create the plan again with 'eden plan ... --out', or review it "
                                 "with 'eden plan %s', then run: chown $(id -u) %s && chmod 600 %s",
                                 buf_c(&word), buf_c(&word), buf_c(&word));
    (void)inputs_report(&inputs, invocation);
    return error_kind_exit_code(err->kind);
}

bool plan_input_get(Invocation *invocation, bool checks_owner, RunConfig *config, Value *plan,
                    bool *found, int *code)
{
    Error err;
    *code = EXIT_USAGE;
    if (read_plan(invocation, checks_owner, config, plan, found, &err)) {
        return !*found || agrees_with_plan(invocation, *plan);
    }
    if (err.kind == ERROR_DENIED) {
        *code = refuse_untrusted(invocation, config->path, &err);
        return false;
    }
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    problems_add(&inputs.problems, "E0719", NULL, 0, 0, "%s: %s", config->path, err.text);
    *code = inputs_report(&inputs, invocation);
    return false;
}
