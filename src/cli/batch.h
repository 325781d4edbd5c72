/* `--batch`: evaluates many templates or expressions in one process. One JSON object per line in,
 * one per line out. */
#pragma once

#include "cli/invocation.h"
#include "lang/template/template.h"

typedef enum BatchKind {
    BATCH_TEMPLATES,
    BATCH_EXPRESSIONS
} BatchKind;

/* Reads standard input to the end and writes one result per line, in order, even for invalid lines.
 * Undefined variables are handled as in Jinja2 unless --undefined was given. The exit code does not
 * depend on the results. */
int batch_run(const Invocation *invocation, const TemplateSettings *settings, BatchKind kind);
