/* cron.*: cron jobs, each in a separate file in /etc/cron.d. */
#include "modules/accounts.h"
#include "modules/file/target.h"

/* cron ignores files whose names contain any other character. */
static bool check_name(Str name, Error *err)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_name(name.data[i]) && name.data[i] != '-') {
            return error_set(
                err, ERROR_INVALID,
                "'name' can contain only letters, digits, '_' and '-': cron ignores other files");
        }
    }
    return (name.len > 0 && name.len < 200) ||
           error_set(err, ERROR_INVALID, "'name' is not a valid file name");
}

/* cron silently skips lines that it cannot parse, so the job would never run. */
typedef struct TimeField {
    const char *param;
    int64_t low, high;
    const char *names; /* three letters each, starting with `low`; NULL: none */
} TimeField;

static const TimeField time_fields[] = {
    { "minute", 0, 59, NULL },
    { "hour", 0, 23, NULL },
    { "day", 1, 31, NULL },
    { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    { "weekday", 0, 7, "sunmontuewedthufrisat" },
};

static bool read_number(const TimeField *field, Str text, int64_t *out)
{
    Str names = field->names == NULL ? STR_EMPTY : str_from_c(field->names);
    for (size_t i = 0; text.len == 3 && i < names.len; i += 3) {
        if (str_eq_ignore_case(text, str_slice(names, i, i + 3))) {
            *out = field->low + (int64_t)(i / 3);
            return true;
        }
    }
    return text.len > 0 && ascii_is_digit(text.data[0]) && str_to_i64(text, out) &&
           *out >= field->low && *out <= field->high;
}

/* Checks an item: "*", "5" or "1-5", optionally with a step such as "/2", or "0~30" for a random
 * value, which not every cron supports. */
static bool is_item(const TimeField *field, Str item)
{
    int64_t from = field->low, to = field->high, every = 1;
    size_t slash = str_find(item, STR("/"), 0);
    Str range = str_slice(item, 0, slash);
    if (slash != STR_NOT_FOUND) {
        Str text = str_from_offset(item, slash + 1);
        if (text.len == 0 || !ascii_is_digit(text.data[0]) || !str_to_i64(text, &every) ||
            every < 1) {
            return false;
        }
    }
    size_t tilde = str_find(range, STR("~"), 0);
    size_t between = tilde != STR_NOT_FOUND ? tilde : str_find(range, STR("-"), 0);
    if (str_eq(range, STR("*"))) {
        return true;
    }
    if (between == STR_NOT_FOUND) {
        return read_number(field, range, &from);
    }
    Str first = str_slice(range, 0, between), last = str_from_offset(range, between + 1);
    bool open = tilde != STR_NOT_FOUND;
    return ((open && first.len == 0) || read_number(field, first, &from)) &&
           ((open && last.len == 0) || read_number(field, last, &to)) && from <= to;
}

static bool check_field(const TimeField *field, Str text, Error *err)
{
    Str rest = text, item;
    bool ok = text.len > 0 && text.data[text.len - 1] != ',';
    while (ok && str_split_next(&rest, ',', &item)) {
        ok = is_item(field, item);
    }
    return ok ||
           error_set(err, ERROR_INVALID,
                     "'%s' cannot be '%" STR_FMT
                     "': use numbers from %lld to %lld%s, as in '*', '*/5', '1,3' or '1-5'",
                     field->param, STR_ARG(text), (long long)field->low, (long long)field->high,
                     field->names == NULL ? "" : " or three-letter names");
}

static bool cron_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                        Error *err)
{
    Str name = params_text(action->params, params, "name");
    *at = "name";
    if (name.len > 0 && !check_name(name, err)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(time_fields); i++) {
        Value value = params_get(action->params, params, time_fields[i].param);
        *at = time_fields[i].param;
        if (value_is_string(value) && !check_field(&time_fields[i], value_str(value), err)) {
            return false;
        }
    }
    return true;
}

static bool put_time(Call *call, Buf *out, Error *err)
{
    if (call_has(call, "every")) {
        for (size_t i = 0; i < COUNT_OF(time_fields); i++) {
            if (!str_eq(call_str(call, time_fields[i].param), STR("*"))) {
                return error_set(err, ERROR_INVALID, "'every' and '%s' are mutually exclusive",
                                 time_fields[i].param);
            }
        }
        buf_put_char(out, '@');
        buf_put(out, call_str(call, "every"));
        buf_put_char(out, ' ');
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(time_fields); i++) {
        Str field = call_str(call, time_fields[i].param);
        if (!check_field(&time_fields[i], field, err)) {
            return false;
        }
        buf_put(out, field);
        buf_put_char(out, ' ');
    }
    return true;
}

/* In a crontab, '%' ends the command unless it is escaped with a backslash. */
static bool put_command(Str command, Buf *out, Error *err)
{
    for (size_t i = 0; i < command.len; i++) {
        if (command.data[i] == '\n' || command.data[i] == '\0') {
            return error_set(err, ERROR_INVALID,
                             "'cmd' must be a single line; use a script for "
                             "multiple lines");
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
            return error_set(err, ERROR_INVALID, "'env' must map names to single-line strings");
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

static bool verify_params(Call *call, Error *err)
{
    Str ignored;
    return (account_check_name(call_str(call, "user"), "a user", err) ||
            call_blame(call, "user")) &&
           make_content(call, &ignored, err);
}
CALL_VERIFY(cron_verify_all, verify_params)

static Str path_of(Arena *arena, Str name)
{
    return arena_format(arena, "/etc/cron.d/%" STR_FMT, STR_ARG(name));
}

/* cron skips jobs of users that do not exist. */
static bool check_user(Call *call, Str name, Error *err)
{
    uid_t uid;
    gid_t gid;
    if (!account_check_name(name, "a user", err)) {
        return call_blame(call, "user");
    }
    return str_eq(name, STR("root")) || host_find_user(call->host, name, &uid, &gid, err) ||
           (err->kind == ERROR_NOT_FOUND && call_report_missing(call, "user", "user", name));
}

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    Target *target = ARENA_NEW(call->arena, Target);
    Str content, user = call_str(call, "user");
    if (!check_name(call_str(call, "name"), err) || !check_user(call, user, err) ||
        !make_content(call, &content, err)) {
        return false;
    }
    *target = (Target){ .path = path_of(call->arena, call_str(call, "name")),
                        .has_mode = true,
                        .mode = FILE_MODE_NEW,
                        .new_mode = FILE_MODE_NEW,
                        .uid = 0,
                        .gid = 0,
                        .parents = true };
    bool secret =
        value_is_secret(call_param(call, "cmd")) || value_holds_secret(call_param(call, "env"));
    if (secret) {
        target->mode = FILE_MODE_SECRET;
    }
    target_set_content(target,
                       secret ? value_with_secret(value_string(content)) : value_string(content));
    return target_check_one(call, target, outcome, err);
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
    if (!call_journal(call, path, err) || !host_remove(call->host, path, err)) {
        return false;
    }
    outcome->changed = true;
    return true;
}

/* `name` is the first parameter. */
static void cron_claims(Arena *arena, const Value *params, List *claims)
{
    if (value_is_string(params[0])) {
        Str path = path_of(arena, value_str(params[0]));
        list_push(arena, claims, value_string(arena_join(arena, STR("path:"), path, STR_EMPTY)));
    }
}

static const ParamSpec present_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the job and of its file" },
    { "user", PARAM_STRING, .fallback = "root", .help = "user that runs it",
      .claims = "needs:user" },
    { "cmd", PARAM_STRING, .aspect = "cmd", .required = true, .help = "command, for cron's shell" },
    { "minute", PARAM_STRING, .aspect = "minute", .fallback = "*",
      .help = "0 to 59, as in a crontab" },
    { "hour", PARAM_STRING, .aspect = "hour", .fallback = "*", .help = "0 to 23" },
    { "day", PARAM_STRING, .aspect = "day", .fallback = "*", .help = "day of the month, 1 to 31" },
    { "month", PARAM_STRING, .aspect = "month", .fallback = "*", .help = "1 to 12, or a name" },
    { "weekday", PARAM_STRING, .aspect = "weekday", .fallback = "*",
      .help = "0 to 7 or a name; 0 and 7 are Sunday" },
    { "every", PARAM_STRING, .aspect = "every",
      .choices = "reboot|hourly|daily|weekly|monthly|yearly",
      .help = "interval, instead of the fields above" },
    { "env", PARAM_MAP, .help = "environment variables, such as MAILTO" },
    { 0 },
};

static const ParamSpec absent_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the job" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure that a cron job exists.", present_params, present_check, target_apply_one,
      .verify = cron_verify, .verify_all = cron_verify_all, .claims = cron_claims,
      .resource = "cron-job name", .writes_whole_files = true, .desired_state = "state=present",
      .text =
          "The job is a separate file, /etc/cron.d/NAME. A '%' in the command is an ordinary\n"
          "character and is escaped automatically. As in a crontab, 'hour: 3' without 'minute'\n"
          "means every minute of that hour.\n",
      .example = "- name: nightly backup\n"
                 "  cron.present:\n"
                 "    - name: backup\n"
                 "    - cmd: /usr/local/bin/backup --quiet\n"
                 "    - minute: 30\n"
                 "    - hour: 3\n" },
    { "absent", "Ensure that a cron job does not exist.", absent_params, absent_check, absent_apply,
      .claims = cron_claims, .resource = "cron-job name", .desired_state = "state=absent",
      .example = "- name: no nightly backup\n"
                 "  cron.absent:\n"
                 "    - name: backup\n" },
    { 0 },
};

const Module modules_cron = {
    .name = "cron",
    .help = "Cron jobs.",
    .id_param = "name",
    .actions = actions,
};
