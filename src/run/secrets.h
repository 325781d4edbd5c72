/* The secrets that a run has encountered, and texts without them.
 *
 * Every secret is added before it is used: the marked variables of all layers, whether or not they
 * take precedence; values that rendering obtains or computes from secrets (SecretSink in
 * template.h); secret results. So every text that leaves the run can be searched for all of them,
 * whatever its origin.
 *
 * Thread-safe. */
#pragma once

#include "base/problems.h"
#include "lang/scrub.h"
#include "lang/template/template.h"

typedef struct Secrets Secrets;

Secrets *secrets_new(void);
void secrets_free(Secrets *secrets); /* NULL is allowed */
DEFINE_AUTO(Secrets, secrets_free)

/* Adds the marked parts of `value`, at any depth; copied. Each is searched for as a whole and line
 * by line. */
void secrets_add(Secrets *secrets, Value value);
/* The same for values computed from secrets. A text that merely contains a known secret is not a
 * secret itself: the rest of it stays visible. */
void secrets_add_computed(Secrets *secrets, Value value);

/* For TemplateSettings: adds everything that renders find. */
SecretSink secrets_sink(Secrets *secrets);

/* A copy of the text in `arena`, without secrets. In a long text, which may have been truncated
 * within a secret, the prefix of one at the end is removed too. */
Str secrets_scrub(Secrets *secrets, Str text, Arena *arena);
/* The same for all strings, keys and numbers of a value; a marked value becomes "(secret)". */
Value secrets_scrub_value(Secrets *secrets, Value value, Arena *arena);
/* The same for all texts of a problem. A source line that contains a secret is omitted. */
void secrets_scrub_problem(Secrets *secrets, Problem *problem, Arena *arena);
