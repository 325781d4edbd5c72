/* locale.*: locales of the system. */
#include "modules/file/edit.h"
#include "modules/tool.h"

#define SUPPORTED STR("/usr/share/i18n/SUPPORTED") /* Debian: locales that can be generated */
#define GEN       STR("/etc/locale.gen")           /* locales to generate */

enum {
    SUPPORTED_MAX = 1 << 20,
    NAME_MAX_LEN = 64
};

typedef struct LocaleChange {
    Str key;       /* normalized name */
    bool generate; /* must be generated */
    Target *gen;   /* the list of locales; NULL: unchanged */
    Target *conf;  /* the file with the default; NULL: unchanged */
} LocaleChange;

/* Normalizes a name: "de_DE.UTF-8" and "de_DE.utf8" are the same, since only letters and digits
 * count after the dot. */
static Str normalized_name(Arena *arena, Str name)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    bool codeset = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        codeset = c == '.' || (codeset && c != '@');
        if (!codeset || c == '.' || ascii_is_digit(c) || ascii_is_alpha(c)) {
            buf_put_char(&out, codeset ? ascii_lower(c) : c);
        }
    }
    return buf_str(&out);
}

static bool check_name(Str name, Error *err)
{
    bool ok = name.len > 0 && name.len <= NAME_MAX_LEN && ascii_is_alpha(name.data[0]);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        ok = ok && (ascii_is_name(c) || c == '.' || c == '@' || c == '-');
    }
    return ok || error_set(err, ERROR_INVALID,
                           "'%" STR_FMT "' is not a locale (example: de_DE.UTF-8)", STR_ARG(name));
}

static bool verify_params(Call *call, Error *err)
{
    return check_name(call_str(call, "name"), err) || call_blame(call, "name");
}
CALL_VERIFY(locale_verify, verify_params)

static bool is_built_in(Str key)
{
    return str_eq(key, STR("C")) || str_eq(key, STR("POSIX")) || str_eq(key, STR("C.utf8"));
}

static bool is_available(Call *call, Str key, bool *out, Error *err)
{
    Str list, line;
    *out = is_built_in(key);
    if (*out) {
        return true;
    }
    if (!TOOL_RUN(call, &list, err, "locale", "-a")) {
        return false;
    }
    while (!*out && str_split_next(&list, '\n', &line)) {
        *out = str_eq(normalized_name(call->arena, str_trim(line)), key);
    }
    return true;
}

/* Finds the line of /etc/locale.gen that generates the locale: "de_DE.UTF-8 UTF-8". */
static bool find_entry(Call *call, Str key, Str *out, Error *err)
{
    Str text, line, words[2];
    if (!host_read(call->host, call->arena, SUPPORTED, SUPPORTED_MAX, &text, err)) {
        return false;
    }
    while (str_split_next(&text, '\n', &line)) {
        if (edit_words(line, words, 2) == 2 &&
            str_eq(normalized_name(call->arena, words[0]), key)) {
            *out = arena_format(call->arena, "%" STR_FMT " %" STR_FMT, STR_ARG(words[0]),
                                STR_ARG(words[1]));
            return true;
        }
    }
    return error_set(err, ERROR_INVALID, "no such locale in /usr/share/i18n/SUPPORTED");
}

/* Returns true if it is this line, and sets whether it is commented out. */
static bool is_entry(Call *call, Str line, Str entry, bool *comment)
{
    Str words[3];
    line = str_trim(line);
    *comment = line.len > 0 && line.data[0] == '#';
    line = *comment ? str_from_offset(line, 1) : line;
    return edit_words(line, words, 3) == 2 &&
           str_eq(arena_format(call->arena, "%" STR_FMT " %" STR_FMT, STR_ARG(words[0]),
                               STR_ARG(words[1])),
                  entry);
}

static void join(Call *call, Outcome *outcome, const Outcome *part)
{
    outcome->changed = outcome->changed || part->changed;
    outcome->diff = arena_format(call->arena, "%" STR_FMT "%" STR_FMT, STR_ARG(outcome->diff),
                                 STR_ARG(part->diff));
}

static bool check_list(Call *call, LocaleChange *change, Str entry, Outcome *outcome, Error *err)
{
    Edit edit;
    Outcome part = { 0 };
    bool comment, placed = false;
    if (!edit_begin_system(call, GEN, &edit, err)) {
        return false;
    }
    for (uint32_t i = 0; i < edit.lines.len && !placed; i++) {
        placed = is_entry(call, edit.lines.items[i], entry, &comment) && !comment;
    }
    for (uint32_t i = 0; i < edit.lines.len && !placed; i++) {
        if (is_entry(call, edit.lines.items[i], entry, &comment)) {
            edit.lines.items[i] = entry;
            placed = true;
        }
    }
    if (!placed) {
        edit_insert(&edit, edit.lines.len, entry);
    }
    if (!edit_end(&edit, false, &part, err)) {
        return false;
    }
    change->gen = edit.target;
    join(call, outcome, &part);
    return true;
}

/* Generating locales requires a package on Debian. */
static bool check_generation(Call *call, LocaleChange *change, Outcome *outcome, Error *err)
{
    FileInfo info;
    Str entry;
    change->generate = true;
    outcome->changed = true;
    outcome_change(call, outcome, "locale", value_string(STR("absent")),
                   value_string(STR("present")));
    if (!host_stat(call->host, SUPPORTED, &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT && tool_exists(call, "locale-gen")) {
        return find_entry(call, change->key, &entry, err) &&
               check_list(call, change, entry, outcome, err);
    }
    if (!call_report_missing_program(call, "locale-gen")) {
        return error_set(
            err, ERROR_NOT_FOUND,
            "the locale does not exist and cannot be generated without locale-gen; install the "
            "package locales (on other distributions: glibc-langpack-...)");
    }
    outcome->unknown = true;
    return true;
}

/* The file that sets the default: Debian has a separate one, unless that is a symlink. */
static bool find_conf(Call *call, Str *out, Error *err)
{
    FileInfo debian, common, version;
    if (!host_stat(call->host, STR("/etc/default/locale"), &debian, err) ||
        !host_stat(call->host, STR("/etc/locale.conf"), &common, err) ||
        !host_stat(call->host, STR("/etc/debian_version"), &version, err)) {
        return false;
    }
    bool own =
        debian.kind == FILE_REGULAR ||
        (debian.kind == FILE_ABSENT && common.kind == FILE_ABSENT && version.kind != FILE_ABSENT);
    *out = own ? STR("/etc/default/locale") : STR("/etc/locale.conf");
    return true;
}

static bool check_default(Call *call, LocaleChange *change, Outcome *outcome, Error *err)
{
    Edit edit;
    Str path;
    Outcome part = { 0 };
    Str wanted = arena_join(call->arena, STR("LANG="), call_str(call, "name"), STR_EMPTY);
    Value before = value_missing();
    bool placed = false;
    if (!call_bool(call, "default")) {
        return true;
    }
    if (!find_conf(call, &path, err) || !edit_begin_system(call, path, &edit, err)) {
        return false;
    }
    for (uint32_t i = 0; i < edit.lines.len;) {
        Str line = str_trim(edit.lines.items[i]);
        if (!str_starts(line, STR("LANG="))) {
            i++;
        } else if (placed) {
            edit_remove(&edit, i, 1);
        } else {
            before = value_string(str_from_offset(line, strlen("LANG=")));
            edit.lines.items[i++] = wanted;
            placed = true;
        }
    }
    if (!placed) {
        edit_insert(&edit, edit.lines.len, wanted);
    }
    if (!edit_end(&edit, false, &part, err)) {
        return false;
    }
    if (part.changed) {
        change->conf = edit.target;
        outcome_change(call, outcome, "default", before, value_string(call_str(call, "name")));
        join(call, outcome, &part);
    }
    return true;
}

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    LocaleChange *change = ARENA_NEW(call->arena, LocaleChange);
    Str name = call_str(call, "name");
    bool available = false;
    if (!check_name(name, err)) {
        return false;
    }
    change->key = normalized_name(call->arena, name);
    outcome->check_data = change;
    outcome->state = STR("present");
    if (!is_available(call, change->key, &available, err) &&
        !(call->planning && err->kind == ERROR_NOT_FOUND)) {
        return false;
    }
    if ((!available && !check_generation(call, change, outcome, err)) ||
        !check_default(call, change, outcome, err)) {
        return error_wrap(err, "%" STR_FMT, STR_ARG(name));
    }
    if (outcome->comment.len == 0) {
        outcome->comment = change->generate ? STR("generated") : STR("already present");
    }
    return true;
}

static bool present_apply(Call *call, Outcome *outcome, Error *err)
{
    LocaleChange *change = outcome->check_data;
    bool available;
    if (change->generate) {
        if (!target_apply(call, change->gen, outcome, err) ||
            !TOOL_RUN(call, NULL, err, "locale-gen")) {
            return false;
        }
        outcome->changed = true;
        if (!is_available(call, change->key, &available, err)) {
            return false;
        }
        if (!available) {
            return error_set(err, ERROR_OS, "locale-gen did not create %" STR_FMT,
                             STR_ARG(call_str(call, "name")));
        }
    }
    return change->conf == NULL || target_apply(call, change->conf, outcome, err);
}

static void present_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("path:/etc/locale.gen")));
    list_push(arena, claims, value_string(STR("needs:pkg:locales")));
}

static const ParamSpec present_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the locale, such as de_DE.UTF-8" },
    { "default", PARAM_BOOL, .fallback = "false", .aspect = "default locale#",
      .help = "make it the default of the system (LANG)" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure that a locale is available.", present_params, present_check, present_apply,
      .verify_all = locale_verify, .claims = present_claims, .cost_ms = 3000,
      .resource = "locale name",
      .text = "On Debian it is generated by locale-gen, which requires the package locales, and\n"
              "gets a line in /etc/locale.gen. With 'default: true' it is set as LANG in\n"
              "/etc/default/locale or /etc/locale.conf, for sessions that start afterward.\n",
      .example = "- name: default locale of the system\n"
                 "  locale.present:\n"
                 "    - name: C.UTF-8\n"
                 "    - default: true\n" },
    { 0 },
};

const Module modules_locale = {
    .name = "locale",
    .help = "Locales of the system.",
    .id_param = "name",
    .actions = actions,
};
