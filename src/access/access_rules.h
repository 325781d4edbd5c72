/* Roles: which verbs are allowed on which objects. Pure.
 *
 * A role is a list of rules, and a rule is a product: any of its verbs, on any of its kinds, for
 * the objects that its selector matches. Rules only allow; everything else is denied. As JSON:
 *
 *     [{"verbs":["get","list","approve"],"kinds":["Node"],"selector":"role=web"}]
 *
 * A verb is get, list, watch, create, update, delete, or an action of a kind. "*" stands for all
 * verbs or kinds, including future ones. A selector (model/selector.h) refers to names and labels;
 * a rule without one applies to all objects. */
#pragma once

#include "base/error.h"
#include "lang/value.h"
#include "model/selector.h"

enum {
    ROLE_NAME_MAX = 63,
    ROLES_MAX = 16,             /* maximum per principal */
    ACCESS_RULES_MAX = 32,      /* maximum per role */
    ACCESS_WORDS_MAX = 64,      /* maximum number of verbs, and of kinds, of a rule */
    ACCESS_WORD_MAX = 40,       /* maximum length in bytes */
    ACCESS_SELECTOR_MAX = 1000, /* maximum length in bytes */
    ACCESS_FAULTS_MAX = 50,
    ACCESS_SELECTORS_MAX = ROLES_MAX * ACCESS_RULES_MAX,
};

typedef struct AccessRule {
    const Str *verbs;
    uint32_t verb_count;
    const Str *kinds;
    uint32_t kind_count;
    Str selector;           /* as written; empty: all objects */
    const Selector *parsed; /* NULL: all objects */
} AccessRule;

typedef struct AccessRole {
    Str name;
    const AccessRule *rules;
    uint32_t rule_count;
} AccessRole;

/* --- Roles as JSON --------------------------------------------------------------------------- */

/* The accepted verbs and kinds. */
typedef struct AccessVocabulary {
    const Str *verbs; /* in addition to "*" */
    uint32_t verb_count;
    const Str *kinds;
    uint32_t kind_count;
} AccessVocabulary;

typedef struct RuleFault {
    Str pointer;     /* JSON pointer: "/spec/rules/0/verbs/1" */
    Str detail;      /* "unknown verb 'aprove'; did you mean 'approve'?" */
    uint32_t column; /* column within the string at the pointer; 0: the entire string */
} RuleFault;

typedef struct RuleFaults {
    Arena *arena;
    RuleFault items[ACCESS_FAULTS_MAX];
    uint32_t count; /* number of faults, at most ACCESS_FAULTS_MAX; additional ones are dropped */
} RuleFaults;

/* 1 to ROLE_NAME_MAX bytes: a-z, 0-9 and '-' between them. Names of built-in roles are rejected. */
MUST_CHECK bool access_role_name_check(Str name, Error *err);

/* `rules` is the list, at `pointer` in the user's document. With `vocabulary`, words that it does
 * not contain are faults. Without it, any word is accepted, as in records of another version.
 * Everything is copied to the arena. Returns false with all faults in `faults`. */
MUST_CHECK bool access_role_parse(Arena *arena, Str name, Value rules, Str pointer,
                                  const AccessVocabulary *vocabulary, AccessRole *out,
                                  RuleFaults *faults);
/* The list of rules in its canonical form. */
Value access_role_value(Arena *arena, const AccessRole *role);

/* admin: everything. operator: everything for nodes and their settings, and reading the rest.
 * viewer: reading objects. */
extern const AccessRole access_role_admin, access_role_operator, access_role_viewer;
/* Returns NULL if no built-in role has this name. */
const AccessRole *access_role_builtin(Str name);
extern const AccessRole *const access_roles_builtin[]; /* terminated by NULL */

/* --- Decisions ------------------------------------------------------------------------------- */

typedef enum AccessVerdict {
    ACCESS_DENIED,
    ACCESS_SELECTED, /* allowed for objects that match one of the selectors */
    ACCESS_ALLOWED,
} AccessVerdict;

typedef struct AccessDecision {
    AccessVerdict verdict;
    const Selector *selectors[ACCESS_SELECTORS_MAX]; /* for ACCESS_SELECTED; owned by the roles */
    uint32_t selector_count;
    char reason[400]; /* for ACCESS_DENIED, and for objects that match no selector */
} AccessDecision;

void access_decide(const AccessRole *const *roles, uint32_t count, Str verb, Str kind,
                   AccessDecision *out);
/* Whether the decision allows this object. `labels` is a map of strings, or NULL for none. */
bool access_decision_allows(const AccessDecision *decision, Str name, Map *labels);

/* Whether a holder of the roles `holder` may grant the role, that is, whether each of its rules is
 * covered by one of theirs. If this cannot be determined, the answer is no: selectors are equal
 * only if their texts are. Fails with ERROR_DENIED and the missing permission. */
MUST_CHECK bool access_covers(const AccessRole *const *holder, uint32_t count,
                              const AccessRole *role, Error *err);
