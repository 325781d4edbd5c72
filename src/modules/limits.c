/* limits.*: resource limits of users, for pam_limits. */
#include "modules/file/edit.h"
#include "modules/tool.h"

#define LIMITS STR("/etc/security/limits.d/eden.conf")

enum {
    LIMIT_WORDS = 4
};

static bool is_value(Str value)
{
    int64_t number;
    return str_to_i64(value, &number) || str_eq(value, STR("unlimited")) ||
           str_eq(value, STR("infinity"));
}

static bool check_domain(Str domain, Error *err)
{
    for (size_t i = 0; i < domain.len; i++) {
        if (ascii_is_space(domain.data[i]) || domain.data[i] == '#') {
            return error_set(err, ERROR_INVALID, "'domain' must be one word");
        }
    }
    return tool_check_word(domain, "a user or group", err);
}

static bool check_params(Call *call, Error *err)
{
    Str value = call_str(call, "value");
    if (!check_domain(call_str(call, "domain"), err)) {
        return call_blame(call, "domain");
    }
    if (!call_has(call, "value") && !str_eq(call_str(call, "state"), STR("absent"))) {
        return error_set(err, ERROR_INVALID, "'value' is required");
    }
    return !call_has(call, "value") || is_value(value) ||
           error_set(err, ERROR_INVALID,
                     "'value' must be an integer or 'unlimited', not '%" STR_FMT "'",
                     STR_ARG(value));
}
CALL_VERIFY(present_verify, check_params)

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    Edit edit;
    Str domain = call_str(call, "domain"), type = call_str(call, "type");
    Str item = call_str(call, "item"), value = call_str(call, "value");
    if (!check_params(call, err) || !edit_begin_system(call, LIMITS, &edit, err)) {
        return false;
    }
    bool absent = edit_is_absent(&edit), placed = absent;
    Str line = arena_format(call->arena, "%" STR_FMT " %" STR_FMT " %" STR_FMT " %" STR_FMT,
                            STR_ARG(domain), STR_ARG(type), STR_ARG(item), STR_ARG(value));
    for (uint32_t i = 0; i < edit.lines.len;) {
        Str words[LIMIT_WORDS];
        bool same = edit_words(edit.lines.items[i], words, LIMIT_WORDS) == LIMIT_WORDS &&
                    str_eq(words[0], domain) && str_eq(words[1], type) && str_eq(words[2], item);
        if (same && placed) {
            edit_remove(&edit, i, 1);
            continue;
        }
        if (same) {
            if (!str_eq(words[3], value)) {
                edit.lines.items[i] = line;
            }
            placed = true;
        }
        i++;
    }
    if (!placed) {
        edit_insert(&edit, edit.lines.len, line);
    }
    if (!edit_end(&edit, false, outcome, err)) {
        return false;
    }
    outcome->state = absent ? STR("absent") : STR("present");
    return true;
}

static void present_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("path:/etc/security/limits.d/eden.conf")));
}

static const ParamSpec present_params[] = {
    { "domain", PARAM_STRING, .required = true,
      .help = "who it applies to: a user, '@group', or '*' for all users" },
    { "item", PARAM_STRING, .required = true,
      .choices = "as|core|cpu|data|fsize|locks|maxlogins|maxsyslogins|memlock|msgqueue|nice|nofile|"
                 "nonewprivs|nproc|priority|rss|rtprio|sigpending|stack",
      .help = "limited resource" },
    { "value", PARAM_STRING, .aspect = "value", .help = "value: a number, or 'unlimited'" },
    { "type", PARAM_STRING, .fallback = "-", .choices = "soft|hard|-",
      .help = "which of the two limits; '-' for both" },
    { "state", PARAM_STRING, .aspect = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether the limit exists" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure that users have the given resource limit.", present_params, present_check,
      target_apply_one, .verify_all = present_verify, .claims = present_claims,
      .resource = "limit domain", .part = "item type",
      .text = "Uses /etc/security/limits.d/eden.conf; applies to sessions that start afterward.\n"
              "systemd services have separate limits.\n",
      .example = "- name: many files for the web server\n"
                 "  limits.present:\n"
                 "    - domain: web\n"
                 "    - item: nofile\n"
                 "    - value: 65536\n" },
    { 0 },
};

const Module modules_limits = {
    .name = "limits",
    .help = "Resource limits of users.",
    .id_param = "domain",
    .actions = actions,
};
