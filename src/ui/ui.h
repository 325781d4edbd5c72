/* The pages of a server: files that are part of the program, packed by gzip, each under one address. */
#pragma once

#include "base/str.h"

typedef enum UiPolicy {
    UI_POLICY_PAGE, /* ours: nothing inline, nothing from elsewhere */
    UI_POLICY_DOCS, /* Swagger UI, which sets styles and draws pictures by itself */
} UiPolicy;

typedef struct UiFile {
    const char *address; /* "/docs/" */
    const char *type;
    const char *tag; /* for ETag: SHA-256 of what it has in it, the same packed and not */
    UiPolicy policy;
    bool lasts;          /* what is in it is part of its address: it never changes */
    uint32_t at, packed; /* in ui_block */
    uint32_t size;       /* when it is not packed */
} UiFile;

extern const bool ui_has_swagger;
extern const UiFile ui_files[]; /* by address */
extern const uint32_t ui_file_count;
extern const char ui_block[];

/* NULL: there is none. An address has one spelling. */
const UiFile *ui_find(Str address);

static inline Str ui_packed(const UiFile *file)
{
    return str_from(ui_block + file->at, file->packed);
}
