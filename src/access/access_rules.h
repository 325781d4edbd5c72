/* Roles: who may do what to which objects. Pure.
 *
 * A role is a list of rules, and a rule a product: any of its verbs, on any of its kinds, for the
 * objects that its selector matches. Rules only allow; what none allows is denied. As JSON:
 *
 *     [{"verbs":["get","list","approve"],"kinds":["Node"],"selector":"role=web"}]
 *
 * A verb is get, list, watch, create, update, delete, or the word of an action of a kind; "*" stands
 * for all, of those to come too, and so it does among kinds. A selector (model/selector.h) speaks of
 * names and labels; without one a rule is for all objects. */
#pragma once

#include "base/error.h"
#include "lang/value.h"
#include "model/selector.h"

enum {
    ROLE_NAME_MAX = 63,
    ROLES_MAX = 16,             /* of one principal */
    ACCESS_RULES_MAX = 32,      /* of a role */
    ACCESS_WORDS_MAX = 64,      /* verbs of a rule, and kinds */
    ACCESS_WORD_MAX = 40,       /* bytes of one */
    ACCESS_SELECTOR_MAX = 1000, /* bytes */
    ACCESS_FAULTS_MAX = 50,
    ACCESS_SELECTORS_MAX = ROLES_MAX * ACCESS_RULES_MAX,
};

typedef struct AccessRule {
    const Str *verbs;
    uint32_t verb_count;
    const Str *kinds;
    uint32_t kind_count;
    Str selector;           /* as it was written; empty: all objects */
    const Selector *parsed; /* NULL: all objects */
} AccessRule;

typedef struct AccessRole {
    Str name;
    const AccessRule *rules;
    uint32_t rule_count;
} AccessRole;

/* --- Roles as JSON --------------------------------------------------------------------------- */

/* The words that there are. */
typedef struct AccessVocabulary {
    const Str *verbs; /* beside "*" */
    uint32_t verb_count;
    const Str *kinds;
    uint32_t kind_count;
} AccessVocabulary;

typedef struct RuleFault {
    Str pointer;     /* of JSON: "/spec/rules/0/verbs/1" */
    Str detail;      /* "there is no verb 'aprove'; did you mean 'approve'?" */
    uint32_t column; /* within the text that stands there; 0: all of it */
} RuleFault;

typedef struct RuleFaults {
    Arena *arena;
    RuleFault items[ACCESS_FAULTS_MAX];
    uint32_t count; /* what is beyond is left out */
} RuleFaults;

/* 1 to ROLE_NAME_MAX bytes: a-z, 0-9 and '-' between them. Those of built-in roles are taken. */
MUST_CHECK bool access_role_name_check(Str name, Error *err);

/* `rules` is the list, which stands at `pointer` in what its author wrote. With `known`, words that
 * are not among its own are faults; without, any word is taken, as in what another version has
 * written. All of it is copied into the arena. False with all that is wrong in `faults`. */
MUST_CHECK bool access_role_parse(Arena *arena, Str name, Value rules, Str pointer,
                                  const AccessVocabulary *known, AccessRole *out,
                                  RuleFaults *faults);
/* The list, as it would be written. */
Value access_role_value(Arena *arena, const AccessRole *role);

/* admin: everything. operator: everything with nodes and their settings, and looking at the rest.
 * viewer: looking at objects. */
extern const AccessRole access_role_admin, access_role_operator, access_role_viewer;
/* NULL: no role of that name is built in. */
const AccessRole *access_role_builtin(Str name);
extern const AccessRole *const access_roles_builtin[]; /* ends with NULL */

/* --- Deciding -------------------------------------------------------------------------------- */

typedef enum AccessVerdict {
    ACCESS_DENIED,
    ACCESS_SELECTED, /* for objects that one of the selectors matches */
    ACCESS_ALLOWED,
} AccessVerdict;

typedef struct AccessDecision {
    AccessVerdict verdict;
    const Selector *selectors[ACCESS_SELECTORS_MAX]; /* of ACCESS_SELECTED; the roles' own */
    uint32_t selector_count;
    char reason[400]; /* of ACCESS_DENIED, and for who matches no selector */
} AccessDecision;

void access_decide(const AccessRole *const *roles, uint32_t count, Str verb, Str kind,
                   AccessDecision *out);
/* Whether the decision is for this object too. `labels` are texts; NULL: it has none. */
bool access_decision_allows(const AccessDecision *decision, Str name, Map *labels);

/* Whether who has the roles `holder` may give away `wanted`, that is, whether each thing that it
 * allows is allowed by one of theirs. Where there is doubt it is not: of two selectors only the same
 * text is the same. Fails with ERROR_DENIED and what is missing. */
MUST_CHECK bool access_covers(const AccessRole *const *holder, uint32_t count,
                              const AccessRole *wanted, Error *err);
