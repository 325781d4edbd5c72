/* Evaluation of roles, and the built-in roles. */
#include <stdio.h>

#include "access/access_rules.h"
#include "cluster/object_selector.h"

/* --- Built-in roles -------------------------------------------------------------------------- */

/* A Str literal for tables of constants. */
#define WORD(literal)                   \
    {                                   \
        "" literal, sizeof(literal) - 1 \
    }

static const Str every[] = { WORD("*") };
static const Str read_verbs[] = { WORD("get"), WORD("list"), WORD("watch") };
static const Str issue_verbs[] = { WORD("create"), WORD("delete"), WORD("issue"), WORD("revoke"),
                                   WORD("renew") };

/* Kinds that operators work with. */
static const Str operator_kinds[] = { WORD("Node"), WORD("Facts"), WORD("Config"), WORD("Version"),
                                      WORD("Blob") };
/* Not "exec": a run applies reviewed content, a command can be anything. */
static const Str runs[] = { WORD("Run") };
static const Str run_verbs[] = { WORD("get"), WORD("list"), WORD("watch"), WORD("create"),
                                 WORD("cancel") };
/* Not "create" and "update": a source makes the server connect to any address. */
static const Str sources[] = { WORD("Source") };
static const Str source_verbs[] = { WORD("get"), WORD("list"), WORD("watch"), WORD("sync"),
                                    WORD("propose") };
static const Str issued_kinds[] = { WORD("Token"), WORD("Certificate") };
static const Str operator_read_kinds[] = { WORD("Token"), WORD("Certificate"), WORD("Role"),
                                           WORD("Audit"), WORD("Metrics"),     WORD("Server") };
/* No raw keys, backups or audit log: the requests of other users are not public. */
/* No blobs: sites may contain secrets. */
static const Str viewer_kinds[] = { WORD("Node"),        WORD("Facts"),   WORD("Config"),
                                    WORD("Certificate"), WORD("Role"),    WORD("Metrics"),
                                    WORD("Run"),         WORD("Version"), WORD("Source"),
                                    WORD("Server") };

#define RULE(verb_list, kind_list)                                                     \
    {                                                                                  \
        .verbs = (verb_list), .verb_count = COUNT_OF(verb_list), .kinds = (kind_list), \
        .kind_count = COUNT_OF(kind_list)                                              \
    }
#define ROLE(text, rule_list)                                                       \
    {                                                                               \
        .name = WORD(text), .rules = (rule_list), .rule_count = COUNT_OF(rule_list) \
    }

static const AccessRule admin_rules[] = { RULE(every, every) };
static const AccessRule operator_rules[] = {
    RULE(every, operator_kinds),     RULE(read_verbs, operator_read_kinds),
    RULE(issue_verbs, issued_kinds), RULE(run_verbs, runs),
    RULE(source_verbs, sources),
};
static const AccessRule viewer_rules[] = { RULE(read_verbs, viewer_kinds) };

const AccessRole access_role_admin = ROLE("admin", admin_rules);
const AccessRole access_role_operator = ROLE("operator", operator_rules);
const AccessRole access_role_viewer = ROLE("viewer", viewer_rules);

const AccessRole *const access_roles_builtin[] = {
    &access_role_admin,
    &access_role_operator,
    &access_role_viewer,
    NULL,
};

const AccessRole *access_role_builtin(Str name)
{
    for (uint32_t i = 0; access_roles_builtin[i] != NULL; i++) {
        if (str_eq(access_roles_builtin[i]->name, name)) {
            return access_roles_builtin[i];
        }
    }
    return NULL;
}

/* --- Decisions ------------------------------------------------------------------------------- */

/* A rule for "*" itself is only covered by "*". */
static bool words_contain(const Str *words, uint32_t count, Str word)
{
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(words[i], STR("*")) || str_eq(words[i], word)) {
            return true;
        }
    }
    return false;
}

static bool rule_applies(const AccessRule *rule, Str verb, Str kind)
{
    return words_contain(rule->verbs, rule->verb_count, verb) &&
           words_contain(rule->kinds, rule->kind_count, kind);
}

/* Formats the roles of the caller: "you have: viewer, web-team". */
static void put_roles(const AccessRole *const *roles, uint32_t count, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < count && used < size; i++) {
        int wrote = snprintf(out + used, size - used, "%s%" STR_FMT, i > 0 ? ", " : "",
                             STR_ARG(roles[i]->name));
        used += (size_t)(wrote > 0 ? wrote : 0);
    }
}

void access_decide(const AccessRole *const *roles, uint32_t count, Str verb, Str kind,
                   AccessDecision *out)
{
    char held_roles[200];
    out->verdict = ACCESS_DENIED;
    out->selector_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < roles[i]->rule_count; j++) {
            const AccessRule *rule = &roles[i]->rules[j];
            if (!rule_applies(rule, verb, kind)) {
                continue;
            }
            if (rule->parsed == NULL) {
                out->verdict = ACCESS_ALLOWED;
                out->selector_count = 0;
                out->reason[0] = '\0';
                return;
            }
            if (out->selector_count < ACCESS_SELECTORS_MAX) {
                out->verdict = ACCESS_SELECTED;
                out->selectors[out->selector_count++] = rule->parsed;
            }
        }
    }
    put_roles(roles, count, held_roles, sizeof held_roles);
    snprintf(out->reason, sizeof out->reason,
             "requires a role that allows '%" STR_FMT "' on %" STR_FMT "%s; you have: %s",
             STR_ARG(str_slice(verb, 0, ACCESS_WORD_MAX)),
             STR_ARG(str_slice(kind, 0, ACCESS_WORD_MAX)),
             out->verdict == ACCESS_SELECTED ? " and selects this object" : "",
             held_roles[0] == '\0' ? "none" : held_roles);
}

bool access_decision_allows(const AccessDecision *decision, Str name, Map *labels)
{
    Value texts = labels == NULL ? value_missing() : value_map(labels);
    for (uint32_t i = 0; decision->verdict == ACCESS_SELECTED && i < decision->selector_count;
         i++) {
        if (object_selector_matches(decision->selectors[i], name, texts)) {
            return true;
        }
    }
    return decision->verdict == ACCESS_ALLOWED;
}

static bool is_held(const AccessRole *const *holder, uint32_t count, Str verb, Str kind,
                    const AccessRule *required)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < holder[i]->rule_count; j++) {
            const AccessRule *rule = &holder[i]->rules[j];
            if (rule_applies(rule, verb, kind) &&
                (rule->parsed == NULL || str_eq(rule->selector, required->selector))) {
                return true;
            }
        }
    }
    return false;
}

bool access_covers(const AccessRole *const *holder, uint32_t count, const AccessRole *role,
                   Error *err)
{
    for (uint32_t i = 0; i < role->rule_count; i++) {
        const AccessRule *rule = &role->rules[i];
        for (uint32_t pair = 0; pair < rule->verb_count * rule->kind_count; pair++) {
            Str verb = rule->verbs[pair / rule->kind_count];
            Str kind = rule->kinds[pair % rule->kind_count];
            if (!is_held(holder, count, verb, kind, rule)) {
                return error_set(err, ERROR_DENIED,
                                 "the role '%" STR_FMT "' allows '%" STR_FMT "' on %" STR_FMT
                                 "%s%" STR_FMT "%s, which you are not allowed to do yourself",
                                 STR_ARG(role->name), STR_ARG(verb),
                                 STR_ARG(str_eq(kind, STR("*")) ? STR("everything") : kind),
                                 rule->selector.len > 0 ? " (" : "",
                                 STR_ARG(str_slice(rule->selector, 0, 100)),
                                 rule->selector.len > 0 ? ")" : "");
            }
        }
    }
    return true;
}
