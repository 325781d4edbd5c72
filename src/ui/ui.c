/* Finds embedded files and decompresses them in pieces. */
#include "ui/ui.h"

#include <stdlib.h>

#define ZLIB_CONST /* makes next_in a pointer to const */
#include <zlib.h>

#include "base/bug.h"
#include "base/memory.h"

struct UiReader {
    Str compressed; /* compressed bytes that have not been read yet */
    bool decompresses;
    bool is_finished;
    z_stream stream;
    char chunk[];
};

enum {
    GZIP_WINDOW = 16 + MAX_WBITS
};

const UiFile *ui_find(Str address)
{
    for (uint32_t i = 0; i < ui_file_count; i++) {
        if (str_eq_c(address, ui_files[i].address)) {
            return &ui_files[i];
        }
    }
    return NULL;
}

UiReader *ui_reader_new(const UiFile *file, bool compressed)
{
    size_t size = sizeof(UiReader) + (compressed ? 0 : UI_CHUNK_MAX);
    UiReader *reader = memory_new(size);
    reader->compressed = ui_compressed(file);
    if (!compressed) {
        reader->decompresses = true;
        if (inflateInit2(&reader->stream, GZIP_WINDOW) != Z_OK) {
            memory_exhausted(1 << MAX_WBITS);
        }
        reader->stream.next_in = (const Bytef *)reader->compressed.data;
        reader->stream.avail_in = (uInt)reader->compressed.len;
    }
    return reader;
}

void ui_reader_free(UiReader *reader)
{
    if (reader != NULL && reader->decompresses) {
        inflateEnd(&reader->stream);
    }
    free(reader);
}

static bool next_compressed(UiReader *reader, Str *chunk)
{
    size_t len = reader->compressed.len < UI_CHUNK_MAX ? reader->compressed.len : UI_CHUNK_MAX;
    *chunk = str_slice(reader->compressed, 0, len);
    reader->compressed = str_from_offset(reader->compressed, len);
    return len > 0;
}

bool ui_reader_next(UiReader *reader, Str *chunk)
{
    if (!reader->decompresses) {
        return next_compressed(reader, chunk);
    }
    if (reader->is_finished) {
        return false;
    }
    reader->stream.next_out = (Bytef *)reader->chunk;
    reader->stream.avail_out = UI_CHUNK_MAX;
    int result = inflate(&reader->stream, Z_NO_FLUSH);
    BUG_IF(result != Z_OK && result != Z_STREAM_END); /* the data is embedded */
    reader->is_finished = result == Z_STREAM_END;
    *chunk = str_from(reader->chunk, UI_CHUNK_MAX - reader->stream.avail_out);
    return chunk->len > 0;
}
