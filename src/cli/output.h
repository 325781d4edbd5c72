/* How commands print values. */
#pragma once

#include "cli/inputs.h"

/* Prints as `-o` says (json or yaml) to standard output. What cannot be printed is a problem. */
int output_value(Inputs *inputs, const Invocation *invocation, Value value);
/* Several documents: YAML with "---" between them, JSON one after the other. */
int output_documents(Inputs *inputs, const Invocation *invocation, const List *documents);
