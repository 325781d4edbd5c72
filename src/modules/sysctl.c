/* sysctl.*: kernel parameters, saved for the next boot and set in the running kernel. */
#include "base/suggest.h"
#include "modules/file/edit.h"

enum {
    VALUE_MAX = 4096,
    NEIGHBORS_MAX = 1000
};

typedef struct SettingChange {
    Target *file;
    Str path; /* under /proc/sys */
    Str value;
    bool set_now;
} SettingChange;

/* "net.ipv4.conf.eth0/1.forwarding": dots separate components, and a slash is a dot within one;
 * vice versa if the first separator is a slash. */
static bool setting_path(Call *call, Str name, Str *out, Error *err)
{
    Buf path = buf_make_in(call->arena, BUF_UNLIMITED);
    bool ok = name.len > 0 && strchr("./", name.data[0]) == NULL &&
              strchr("./", name.data[name.len - 1]) == NULL &&
              str_find(name, STR(".."), 0) == STR_NOT_FOUND &&
              str_find(name, STR("//"), 0) == STR_NOT_FOUND;
    size_t dot = str_find(name, STR("."), 0), slash = str_find(name, STR("/"), 0);
    bool swaps = slash == STR_NOT_FOUND || (dot != STR_NOT_FOUND && dot < slash);
    buf_put_c(&path, "/proc/sys/");
    for (size_t i = 0; ok && i < name.len; i++) {
        char c = name.data[i];
        ok = ascii_is_name(c) || (c != '\0' && strchr("./-:@", c) != NULL);
        buf_put_char(&path, !swaps ? c : c == '.' ? '/' : c == '/' ? '.' : c);
    }
    *out = buf_str(&path);
    return ok ||
           error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a kernel parameter", STR_ARG(name));
}

static Str next_word(Str *rest)
{
    size_t len = 0;
    *rest = str_trim(*rest);
    while (len < rest->len && !ascii_is_space(rest->data[len])) {
        len++;
    }
    Str word = str_slice(*rest, 0, len);
    *rest = str_from_offset(*rest, len);
    return word;
}

/* Compares lists of numbers, whose separators may be spaces or tabs. */
static bool same_values(Str a, Str b)
{
    Str x, y;
    do {
        x = next_word(&a);
        y = next_word(&b);
    } while (x.len > 0 && str_eq(x, y));
    return x.len == 0 && y.len == 0;
}

/* Splits "key = value". Returns false if it is not one. */
static bool split_setting(Str line, Str *name, Str *value)
{
    size_t equals = str_find(line, STR("="), 0);
    line = str_trim(line);
    if (equals == STR_NOT_FOUND || line.len == 0 || line.data[0] == '#' || line.data[0] == ';') {
        return false;
    }
    equals = str_find(line, STR("="), 0);
    *name = str_trim(str_slice(line, 0, equals));
    *value = str_trim(str_from_offset(line, equals + 1));
    return true;
}

static void edit_setting(Edit *edit, Str name, Str value)
{
    bool placed = edit_is_absent(edit);
    for (uint32_t i = 0; i < edit->lines.len;) {
        Str found, now;
        bool same = split_setting(edit->lines.items[i], &found, &now) && str_eq(found, name);
        if (same && placed) {
            edit_remove(edit, i, 1);
            continue;
        }
        if (same) {
            placed = true;
            if (!same_values(now, value)) {
                edit->lines.items[i] = arena_format(edit->call->arena, "%" STR_FMT " = %" STR_FMT,
                                                    STR_ARG(name), STR_ARG(value));
            }
        }
        i++;
    }
    if (!placed) {
        edit_insert(edit, edit->lines.len,
                    arena_format(edit->call->arena, "%" STR_FMT " = %" STR_FMT, STR_ARG(name),
                                 STR_ARG(value)));
    }
}

static bool check_value(Call *call, Str value, Error *err)
{
    if (!call_has(call, "value")) {
        return str_eq(call_str(call, "state"), STR("absent")) ||
               error_set(err, ERROR_INVALID, "'value' is required");
    }
    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.data[i] < ' ' && value.data[i] != '\t') {
            return error_set(err, ERROR_INVALID, "'value' must be one line");
        }
    }
    return value.len < VALUE_MAX || error_set(err, ERROR_LIMIT, "'value' is too long");
}

/* Suggests a similarly spelled parameter. Always returns false. */
static bool fail_unknown(Call *call, Str path, Error *err)
{
    Str *names, near, name = call_str(call, "name");
    uint32_t count;
    Error ignored;
    size_t slash = str_find_last(path, STR("/"));
    Suggest suggest = suggest_make(str_from_offset(path, slash + 1));
    if (host_list(call->host, call->arena, str_slice(path, 0, slash), NEIGHBORS_MAX, &names, &count,
                  &ignored)) {
        for (uint32_t i = 0; i < count; i++) {
            suggest_offer(&suggest, names[i]);
        }
    }
    bool found = suggest_found(&suggest, &near);
    return error_set(err, ERROR_NOT_FOUND,
                     "this kernel has no parameter '%" STR_FMT "'%s%" STR_FMT "%s", STR_ARG(name),
                     found ? "; did you mean '" : "", STR_ARG(found ? near : STR_EMPTY),
                     found ? "'" : "");
}

/* Checks the write bits: root can open any file for writing, and the kernel rejects only the write
 * itself. */
static bool check_writable(Call *call, Str path, Error *err)
{
    FileInfo info;
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    return (info.mode & 0222) != 0 ||
           error_set(err, ERROR_INVALID, "the parameter '%" STR_FMT "' is read-only",
                     STR_ARG(call_str(call, "name")));
}

/* Whether the text is a list of numbers separated by blanks. */
static bool is_numbers(Str value)
{
    int64_t number;
    Str word = next_word(&value);
    bool ok = word.len > 0;
    for (; ok && word.len > 0; word = next_word(&value)) {
        ok = str_to_i64(word, &number);
    }
    return ok;
}

/* The kernel does not report which values a parameter accepts, but a parameter whose value is
 * numeric does not accept words, unless it is a name. */
static bool check_kind(Call *call, Str now, Str value, Error *err)
{
    static const char *const names[] = { "hostname", "domainname", "core_pattern", "modprobe" };
    Str name = call_str(call, "name");
    bool has_letter = false, is_name = false;
    for (size_t i = 0; i < value.len; i++) {
        has_letter = has_letter || ascii_is_alpha(value.data[i]);
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        is_name = is_name || str_ends(name, str_from_c(names[i]));
    }
    if (!has_letter || is_name || str_starts(value, STR("0x")) || !is_numbers(now)) {
        return true;
    }
    bool secret = value_is_secret(call_param(call, "value"));
    return error_set(err, ERROR_INVALID,
                     "the parameter '%" STR_FMT "' is numeric: its value is %" STR_FMT
                     " and cannot be set to '%" STR_FMT "'",
                     STR_ARG(name), STR_ARG(str_trim(now)),
                     STR_ARG(secret ? STR("(secret)") : value)) ||
           call_blame(call, "value");
}

/* Reads the current value. An earlier step may load the kernel module that provides the
 * parameter. */
static bool read_current(Call *call, SettingChange *change, Outcome *outcome, Error *err)
{
    Str now;
    if (!host_is_live(call->host) || !call_has(call, "value") ||
        str_eq(call_str(call, "state"), STR("absent"))) {
        return true;
    }
    if (!host_read(call->host, call->arena, change->path, VALUE_MAX, &now, err)) {
        if (err->kind != ERROR_NOT_FOUND) {
            return call_blame(call, "name");
        }
        if (!call_report_missing(call, "name", "sysctl", call_str(call, "name"))) {
            return fail_unknown(call, change->path, err);
        }
        outcome->changed = true;
        change->set_now = true;
        return true;
    }
    change->set_now = !same_values(now, change->value);
    if (change->set_now) {
        if (!check_writable(call, change->path, err)) {
            return call_blame(call, "name");
        }
        if (!check_kind(call, now, change->value, err)) {
            return false;
        }
        outcome->changed = true;
        bool secret = value_is_secret(call_param(call, "value"));
        outcome_change(call, outcome, "running value",
                       secret ? value_missing() : value_string(str_trim(now)),
                       value_string(secret ? STR("(secret)") : change->value));
    }
    return true;
}

static bool verify_params(Call *call, Error *err)
{
    Str path;
    return (setting_path(call, call_str(call, "name"), &path, err) || call_blame(call, "name")) &&
           check_value(call, call_str(call, "value"), err);
}
CALL_VERIFY(present_verify, verify_params)

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    Edit edit;
    Str name = call_str(call, "name");
    SettingChange *change = ARENA_NEW(call->arena, SettingChange);
    change->value = call_str(call, "value");
    if (!setting_path(call, name, &change->path, err) || !check_value(call, change->value, err) ||
        !edit_begin_system(call, call_str(call, "file"), &edit, err)) {
        return false;
    }
    edit_setting(&edit, name, change->value);
    bool secret = value_is_secret(call_param(call, "value"));
    if (secret) {
        edit.target->has_mode = true;
        edit.target->mode = FILE_MODE_SECRET;
    }
    if (!edit_end(&edit, secret, outcome, err) || !read_current(call, change, outcome, err)) {
        return false;
    }
    change->file = edit.target;
    outcome->comment = outcome->changed ? STR("set") : STR("already set");
    outcome->state = edit_is_absent(&edit) ? STR("absent") : STR("present");
    outcome->check_data = change;
    return true;
}

static bool present_apply(Call *call, Outcome *outcome, Error *err)
{
    SettingChange *change = outcome->check_data;
    if (change->set_now) {
        if (!host_write_existing(call->host, change->path, change->value, err)) {
            return false;
        }
        outcome->changed = true;
    }
    /* Save it only after the kernel has accepted it. */
    return target_apply(call, change->file, outcome, err);
}

static const ParamSpec present_params[] = {
    { "file", PARAM_FILE, .fallback = "/etc/sysctl.d/90-eden.conf",
      .help = "file it is saved in for the next boot", .claims = "path" },
    { "name", PARAM_STRING, .required = true,
      .help = "kernel parameter, such as net.ipv4.ip_forward", .claims = "sysctl" },
    { "value", PARAM_STRING, .aspect = "value", .help = "value of the parameter" },
    { "state", PARAM_STRING, .aspect = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether it is saved; removing it does not change the running kernel" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure that a kernel parameter has the given value.", present_params,
      present_check, present_apply, .verify_all = present_verify, .resource = "kernel-setting name",
      .text = "The value is saved in 'file' for the next boot and set in the running kernel;\n"
              "with --root, it is only saved. Other files in /etc/sysctl.d can override it at\n"
              "boot: the last file in alphabetical order takes precedence.\n",
      .example = "- name: forward packets\n"
                 "  sysctl.present:\n"
                 "    - name: net.ipv4.ip_forward\n"
                 "    - value: 1\n" },
    { 0 },
};

const Module modules_sysctl = {
    .name = "sysctl",
    .help = "Kernel parameters.",
    .id_param = "name",
    .actions = actions,
};
