/* limits.*: what users may use, for pam_limits. */
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
            return error_set(err, ERROR_INVALID, "'domain' is one word");
        }
    }
    return tool_word(domain, "a user or group", err);
}

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    Edit edit;
    Str domain = call_str(call, "domain"), type = call_str(call, "type");
    Str item = call_str(call, "item"), value = call_str(call, "value");
    if (!check_domain(domain, err)) {
        return false;
    }
    if (!call_has(call, "value") && !str_eq(call_str(call, "state"), STR("absent"))) {
        return error_set(err, ERROR_INVALID, "needs 'value'");
    }
    if (call_has(call, "value") && !is_value(value)) {
        return error_set(err, ERROR_INVALID,
                         "'value' is a whole number or 'unlimited', not '%" STR_FMT "'",
                         STR_ARG(value));
    }
    if (!edit_begin_system(call, LIMITS, &edit, err)) {
        return false;
    }
    bool absent = edit_wants_absence(&edit), placed = absent;
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
      .help = "whom it holds for: a user, '@group', or '*' for everybody" },
    { "item", PARAM_STRING, .required = true,
      .choices = "as|core|cpu|data|fsize|locks|maxlogins|maxsyslogins|memlock|msgqueue|nice|nofile|"
                 "nonewprivs|nproc|priority|rss|rtprio|sigpending|stack",
      .help = "what is limited" },
    { "value", PARAM_STRING, .decides = "value", .help = "how much: a number, or 'unlimited'" },
    { "type", PARAM_STRING, .fallback = "-", .choices = "soft|hard|-",
      .help = "which of the two limits; '-' for both" },
    { "state", PARAM_STRING, .decides = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether there shall be such a limit" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure a limit for users.", present_params, present_check, target_apply_one,
      .claims = present_claims, .thing = "limit domain", .part = "item type",
      .text =
          "In /etc/security/limits.d/eden.conf, for sessions that start afterwards. Services of\n"
          "systemd have limits of their own.\n",
      .example = "- name: many files for the web server\n"
                 "  limits.present:\n"
                 "    - domain: web\n"
                 "    - item: nofile\n"
                 "    - value: 65536\n" },
    { 0 },
};

const Module modules_limits = {
    .name = "limits",
    .help = "What users may use.",
    .id_param = "domain",
    .actions = actions,
};
