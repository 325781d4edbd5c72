/* cron.*: jobs that cron runs, each in a file of its own in /etc/cron.d. */
#include "modules/file/target.h"
#include "modules/people.h"

/* Cron passes over files whose name has anything else. */
static bool check_name(Str name, Error *err)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_name(name.data[i]) && name.data[i] != '-') {
            return error_set(
                err, ERROR_INVALID,
                "'name' may have letters, digits, '_' and '-' only: cron ignores other "
                "files");
        }
    }
    return (name.len > 0 && name.len < 200) ||
           error_set(err, ERROR_INVALID, "'name' cannot be the name of a file");
}

static bool check_field(Str text, const char *name, Error *err)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!ascii_is_name(c) && strchr("*/,-~", c) == NULL) {
            return error_set(err, ERROR_INVALID, "'%s' cannot be '%" STR_FMT "'", name,
                             STR_ARG(text));
        }
    }
    return text.len > 0 || error_set(err, ERROR_INVALID, "'%s' is empty", name);
}

static bool put_time(Call *call, Buf *out, Error *err)
{
    static const char *const fields[] = { "minute", "hour", "day", "month", "weekday" };
    if (call_has(call, "every")) {
        for (size_t i = 0; i < COUNT_OF(fields); i++) {
            if (!str_eq(call_str(call, fields[i]), STR("*"))) {
                return error_set(err, ERROR_INVALID, "'every' and '%s' exclude each other",
                                 fields[i]);
            }
        }
        buf_put_char(out, '@');
        buf_put(out, call_str(call, "every"));
        buf_put_char(out, ' ');
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        Str field = call_str(call, fields[i]);
        if (!check_field(field, fields[i], err)) {
            return false;
        }
        buf_put(out, field);
        buf_put_char(out, ' ');
    }
    return true;
}

/* In a crontab '%' ends the command, unless it has a backslash. */
static bool put_command(Str command, Buf *out, Error *err)
{
    for (size_t i = 0; i < command.len; i++) {
        if (command.data[i] == '\n' || command.data[i] == '\0') {
            return error_set(err, ERROR_INVALID, "'cmd' is one line; put more into a script");
        }
        if (command.data[i] == '%' && (i == 0 || command.data[i - 1] != '\\')) {
            buf_put_char(out, '\\');
        }
        buf_put_char(out, command.data[i]);
    }
    return command.len > 0 || error_set(err, ERROR_INVALID, "'cmd' is empty");
}

static bool put_environment(Call *call, Buf *out, Error *err)
{
    Value env = call_param(call, "env");
    for (uint32_t i = 0; env.kind == VALUE_MAP && i < env.map->len; i++) {
        Str name = value_str(env.map->entries[i].key);
        Value value = env.map->entries[i].value;
        bool ok = value_is_string(value) && name.len > 0 && !ascii_is_digit(name.data[0]) &&
                  str_find(value_str(value), STR("\n"), 0) == STR_NOT_FOUND;
        for (size_t j = 0; j < name.len; j++) {
            ok = ok && ascii_is_name(name.data[j]);
        }
        if (!ok) {
            return error_set(err, ERROR_INVALID, "'env' takes names and texts of one line");
        }
        buf_put_format(out, "%" STR_FMT "=%" STR_FMT "\n", STR_ARG(name),
                       STR_ARG(value_str(value)));
    }
    return true;
}

static bool make_content(Call *call, Str *out, Error *err)
{
    Buf text = buf_make_in(call->arena, BUF_UNLIMITED);
    buf_put_c(&text, "# by eden\n");
    if (!put_environment(call, &text, err) || !put_time(call, &text, err)) {
        return false;
    }
    buf_put(&text, call_str(call, "user"));
    buf_put_char(&text, ' ');
    if (!put_command(call_str(call, "cmd"), &text, err)) {
        return false;
    }
    buf_put_char(&text, '\n');
    *out = buf_str(&text);
    return true;
}

static Str path_of(Arena *arena, Str name)
{
    return arena_format(arena, "/etc/cron.d/%" STR_FMT, STR_ARG(name));
}

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    Target *target = ARENA_NEW(call->arena, Target);
    Str content;
    if (!check_name(call_str(call, "name"), err) ||
        !people_check_name(call_str(call, "user"), "a user", err) ||
        !make_content(call, &content, err)) {
        return false;
    }
    *target = (Target){ .path = path_of(call->arena, call_str(call, "name")),
                        .has_mode = true,
                        .mode = FILE_MODE_NEW,
                        .new_mode = FILE_MODE_NEW,
                        .uid = 0,
                        .gid = 0,
                        .parents = true,
                        .validate = value_missing() };
    bool secret =
        value_is_secret(call_param(call, "cmd")) || value_holds_secret(call_param(call, "env"));
    if (secret) {
        target->mode = FILE_MODE_SECRET;
    }
    target_set_content(target,
                       secret ? value_with_secret(value_string(content)) : value_string(content));
    return target_check_one(call, target, outcome, err);
}

static bool present_apply(Call *call, Outcome *outcome, Error *err)
{
    return target_apply_one(call, outcome, err);
}

static bool absent_check(Call *call, Outcome *outcome, Error *err)
{
    FileInfo info;
    Str path = path_of(call->arena, call_str(call, "name"));
    if (!check_name(call_str(call, "name"), err) || !host_stat(call->host, path, &info, err)) {
        return false;
    }
    outcome->changed = info.kind != FILE_ABSENT;
    outcome->state = STR("absent");
    outcome->comment = outcome->changed ? STR("removed") : STR("already absent");
    if (outcome->changed) {
        outcome_change(call, outcome, "job", value_string(path), value_missing());
    }
    return true;
}

static bool absent_apply(Call *call, Outcome *outcome, Error *err)
{
    Str path = path_of(call->arena, call_str(call, "name"));
    if (!call_keep(call, path, err) || !host_remove(call->host, path, err)) {
        return false;
    }
    outcome->changed = true;
    return true;
}

static void claim(Arena *arena, const char *prefix, Value value, List *claims)
{
    if (value_is_string(value)) {
        list_push(
            arena, claims,
            value_string(arena_format(arena, "%s%" STR_FMT, prefix, STR_ARG(value_str(value)))));
    }
}

/* Known to the claims. */
enum {
    PRESENT_NAME,
    PRESENT_USER,
};

static void present_claims(Arena *arena, const Value *params, List *claims)
{
    claim(arena, "path:/etc/cron.d/", params[PRESENT_NAME], claims);
    claim(arena, "needs:user:", params[PRESENT_USER], claims);
}

static void absent_claims(Arena *arena, const Value *params, List *claims)
{
    claim(arena, "path:/etc/cron.d/", params[PRESENT_NAME], claims);
}

static const ParamSpec present_params[] = {
    [PRESENT_NAME] = { "name", PARAM_STRING, .required = true,
                       .help = "what the job is called; also the name of its file" },
    [PRESENT_USER] = { "user", PARAM_STRING, .fallback = "root", .help = "who runs it" },
    { "cmd", PARAM_STRING, .required = true, .help = "the command, for cron's shell" },
    { "minute", PARAM_STRING, .fallback = "*", .help = "0 to 59, as in a crontab" },
    { "hour", PARAM_STRING, .fallback = "*", .help = "0 to 23" },
    { "day", PARAM_STRING, .fallback = "*", .help = "of the month, 1 to 31" },
    { "month", PARAM_STRING, .fallback = "*", .help = "1 to 12, or a name" },
    { "weekday", PARAM_STRING, .fallback = "*", .help = "0 to 7 or a name; 0 and 7: Sunday" },
    { "every", PARAM_STRING, .choices = "reboot|hourly|daily|weekly|monthly|yearly",
      .help = "in place of the fields above" },
    { "env", PARAM_MAP, .help = "variables, such as MAILTO" },
    { 0 },
};

static const ParamSpec absent_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "what the job is called" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure that cron runs a command.", present_params, present_check, present_apply,
      .claims = present_claims,
      .text = "In a file of its own, /etc/cron.d/NAME. A '%' in the command is an ordinary\n"
              "character here; it gets its backslash by itself.\n",
      .example = "- name: nightly copy\n"
                 "  cron.present:\n"
                 "    - name: backup\n"
                 "    - cmd: /usr/local/bin/backup --quiet\n"
                 "    - minute: 30\n"
                 "    - hour: 3\n" },
    { "absent", "Ensure that cron does not run a command.", absent_params, absent_check,
      absent_apply, .claims = absent_claims,
      .example = "- name: no more copies\n"
                 "  cron.absent:\n"
                 "    - name: backup\n" },
    { 0 },
};

const Module modules_cron = {
    .name = "cron",
    .help = "Jobs of cron.",
    .id_param = "name",
    .actions = actions,
};
