/* The web pages of a server: files embedded in the program, compressed with gzip, one per path. */
#pragma once

#include "base/own.h"
#include "base/str.h"

typedef enum UiPolicy {
    UI_POLICY_PAGE, /* our own pages: nothing inline, nothing from other origins */
    UI_POLICY_DOCS, /* Swagger UI, which uses inline styles and data: images */
} UiPolicy;

typedef struct UiFile {
    const char *address; /* "/docs/" */
    const char *type;
    const char *tag; /* ETag: SHA-256 of the contents, the same for both encodings */
    UiPolicy policy;
    bool is_immutable; /* never changes, because its address contains a digest of its contents */
    uint32_t offset, compressed_size; /* offset and compressed size in ui_block */
    uint32_t size;                    /* uncompressed */
} UiFile;

extern const bool ui_has_swagger;
extern const UiFile ui_files[]; /* sorted by address */
extern const uint32_t ui_file_count;
extern const char ui_block[];

/* Returns NULL if there is no such file. Each file has exactly one address. */
const UiFile *ui_find(Str address);

static inline Str ui_compressed(const UiFile *file)
{
    return str_from(ui_block + file->offset, file->compressed_size);
}

enum {
    UI_CHUNK_MAX = 32 << 10
};

/* Reads a file in pieces: a slow client holds one piece in memory, not the entire file. */
typedef struct UiReader UiReader;

/* `compressed`: returns gzip data. */
UiReader *ui_reader_new(const UiFile *file, bool compressed);
void ui_reader_free(UiReader *reader); /* NULL is allowed */
DEFINE_AUTO(UiReader, ui_reader_free)

/* Returns false at the end. The piece is valid until the next call. */
bool ui_reader_next(UiReader *reader, Str *chunk);
