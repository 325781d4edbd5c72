/* Edits a single value in a JSON or YAML document.
 *
 * The text is changed only where the value is: order, comments, indentation and quotes of
 * everything else are preserved. After each change the text is parsed again, and must contain the
 * requested change and nothing else; so an edit that the layout, an anchor or an alias makes
 * impossible fails with ERROR_CONFLICT instead of producing a wrong document. */
#pragma once

#include "lang/edit/data_path.h"

typedef struct DocumentFormat DocumentFormat;
extern const DocumentFormat document_json, document_yaml;

typedef struct DocumentRequest {
    DataPath path; /* if it ends with "-": an item of a list, at any index */
    bool absent;
    Value value; /* missing: none; with `absent`, only for a path that ends with "-" */
} DocumentRequest;

typedef struct DocumentChange {
    Str text;  /* the old text itself if there is nothing to do */
    Value old; /* previous value; missing if there was none */
} DocumentChange;

enum {
    DOCUMENT_MAX = 16 << 20, /* bytes of text */
    DOCUMENT_EDITS_MAX = 64, /* a value with more differences is rewritten */
};

/* Fails with ERROR_INVALID if the request is invalid for any text. */
MUST_CHECK bool document_request_check(const DocumentRequest *request, Error *err);
/* `name` identifies the document in messages. An empty text is a document without a value. The
 * request must have been checked. Fails with ERROR_INVALID if the text cannot be parsed; otherwise
 * see above. */
MUST_CHECK bool document_edit(Arena *arena, const DocumentFormat *format, Str name, Str text,
                              const DocumentRequest *request, DocumentChange *out, Error *err);
