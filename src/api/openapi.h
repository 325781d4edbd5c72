/* The OpenAPI 3.0 description of the API, from the rows of routes and kinds. Pure. */
#pragma once

#include "api/kind.h"

/* `version` is that of the program. */
void openapi_print(Buf *out, Str version);
/* Objects of one kind as a JSON Schema. */
void openapi_print_kind(Buf *out, const Kind *kind);
