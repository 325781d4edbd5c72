/* The secrets that a run has met, and what is shown without them.
 *
 * Every secret is added when it comes into being and before anything is done with it: the marked
 * variables of all layers, whether they win or not; what rendering takes from elsewhere or computes
 * from secrets (SecretSink of template.h); results that are secret. So every text that leaves the
 * run can be searched for all of them, whoever wrote it and however much stands around them.
 *
 * Any thread may add and scrub. */
#pragma once

#include "base/problems.h"
#include "lang/scrub.h"
#include "lang/template/template.h"

typedef struct Secrets Secrets;

Secrets *secrets_new(void);
void secrets_free(Secrets *secrets); /* NULL is fine */
DEFINE_AUTO(Secrets, secrets_free)

/* Adds what is marked in `value`, at any depth; copied. Each is looked for as a whole and line by
 * line. */
void secrets_add(Secrets *secrets, Value value);
/* The same for what was computed from secrets. A text that merely contains one that is known says
 * nothing more: the rest of it stays visible. */
void secrets_add_computed(Secrets *secrets, Value value);

/* For TemplateSettings: adds all that renders find. */
SecretSink secrets_sink(Secrets *secrets);

/* A copy of the text in `arena`, without secrets. Of a long text, which may have been cut within a
 * secret, the first part of one at the end is taken out too. */
Str secrets_scrub(Secrets *secrets, Str text, Arena *arena);
/* The same for all texts, keys and numbers of a value; one that is marked is "(secret)". */
Value secrets_scrub_value(Secrets *secrets, Value value, Arena *arena);
/* The same for all that a problem says. A line of the source that holds a secret is left out. */
void secrets_scrub_problem(Secrets *secrets, Problem *problem, Arena *arena);
