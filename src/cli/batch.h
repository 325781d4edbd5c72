/* Many templates or expressions in one process: a JSON object per line in, one per line out. */
#pragma once

#include "cli/command.h"
#include "lang/template/template.h"

typedef enum BatchKind {
    BATCH_TEMPLATES,
    BATCH_EXPRESSIONS
} BatchKind;

/* Reads standard input to its end. Each line is answered in order, whatever it holds. */
int batch_run(const Invocation *invocation, const TemplateSettings *base, BatchKind kind);
