/* Many templates or expressions in one process: a JSON object per line in, one per line out. */
#pragma once

#include "cli/invocation.h"
#include "lang/template/template.h"

typedef enum BatchKind {
    BATCH_TEMPLATES,
    BATCH_EXPRESSIONS
} BatchKind;

/* Reads standard input to its end. Each line is answered in order, whatever it holds. Undefined
 * variables are as in Jinja2 unless --undefined was given. Returns the exit code, which does not
 * depend on the answers. */
int batch_run(const Invocation *invocation, const TemplateSettings *settings, BatchKind kind);
