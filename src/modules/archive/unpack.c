#include "modules/archive/unpack.h"

#include <zlib.h>

#include "modules/archive/tar.h"
#include "modules/archive/zip.h"
#include "modules/tool.h"

enum {
    CHUNK_SIZE = 64 << 10
};

static bool source_get(const ArchiveSource *source, uint64_t offset, char *buffer, size_t size,
                       size_t *got, Error *err)
{
    if (source->reader != NULL) {
        return host_reader_get(source->reader, offset, buffer, size, got, err);
    }
    Str rest =
        offset > source->bytes.len ? STR_EMPTY : str_from_offset(source->bytes, (size_t)offset);
    rest = str_slice(rest, 0, size);
    memcpy(buffer, rest.data, rest.len);
    *got = rest.len;
    return true;
}

static uint64_t source_size(const ArchiveSource *source)
{
    return source->reader != NULL ? (uint64_t)host_reader_info(source->reader)->size
                                  : source->bytes.len;
}

bool archive_detect(const ArchiveSource *source, ArchiveFormat *out, Error *err)
{
    static const struct {
        const char *start;
        size_t len;
        ArchiveFormat format;
    } packed[] = {
        { "\x1f\x8b", 2, ARCHIVE_TAR_GZIP },
        { "\xfd"
          "7zXZ\0",
          6, ARCHIVE_TAR_XZ },
        { "\x28\xb5\x2f\xfd", 4, ARCHIVE_TAR_ZSTD },
        { "BZh", 3, ARCHIVE_TAR_BZIP2 },
    };
    char head[TAR_BLOCK];
    size_t got;
    if (!source_get(source, 0, head, sizeof head, &got, err)) {
        return false;
    }
    Str text = str_from(head, got);
    for (size_t i = 0; i < COUNT_OF(packed); i++) {
        if (str_starts(text, str_from(packed[i].start, packed[i].len))) {
            *out = packed[i].format;
            return true;
        }
    }
    if (zip_is_start(text) || tar_is_header(text)) {
        *out = zip_is_start(text) ? ARCHIVE_ZIP : ARCHIVE_TAR;
        return true;
    }
    return error_set(
        err, ERROR_INVALID,
        "neither a zip nor a tar archive (plain, or compressed with gzip, xz, zstd or bzip2)");
}

/* --- Tar ------------------------------------------------------------------------------------- */

typedef struct Feed {
    Call *call;
    Tar tar;
    uint64_t left; /* bytes that may still be written */
    Error *err;
} Feed;

static bool feed(Feed *to, Str piece)
{
    if (piece.len > to->left) {
        return error_set(to->err, ERROR_LIMIT, "the archive is larger than 'max_size' allows");
    }
    if (call_canceled(to->call)) {
        return error_set(to->err, ERROR_UNAVAILABLE, "the run was canceled");
    }
    to->left -= piece.len;
    return tar_feed(&to->tar, piece, to->err);
}

static bool feed_callback(void *context, Str piece)
{
    return feed(context, piece);
}

static bool feed_plain(Feed *to, const ArchiveSource *source)
{
    char piece[CHUNK_SIZE];
    size_t got = 1;
    for (uint64_t at = 0; got > 0; at += got) {
        if (!source_get(source, at, piece, sizeof piece, &got, to->err) ||
            !feed(to, str_from(piece, got))) {
            return false;
        }
    }
    return true;
}

static bool inflate_piece(Feed *to, z_stream *stream, bool *ended)
{
    char out[CHUNK_SIZE];
    do {
        stream->next_out = (Bytef *)out;
        stream->avail_out = sizeof out;
        int result = inflate(stream, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
            return error_set(to->err, ERROR_INVALID, "the archive is damaged (gzip: %s)",
                             stream->msg == NULL ? "unexpected end of data" : stream->msg);
        }
        if (!feed(to, str_from(out, sizeof out - stream->avail_out))) {
            return false;
        }
        *ended = result == Z_STREAM_END;
        /* Several compressed streams may be concatenated; zeros after the last are padding. */
        while (*ended && stream->avail_in > 0 && *stream->next_in == 0) {
            stream->next_in++;
            stream->avail_in--;
        }
        if (*ended && stream->avail_in > 0 && inflateReset(stream) != Z_OK) {
            return error_set(to->err, ERROR_INVALID, "the archive is damaged (gzip)");
        }
    } while (stream->avail_in > 0 || stream->avail_out == 0);
    return true;
}

static bool feed_gzip(Feed *to, const ArchiveSource *source)
{
    char piece[CHUNK_SIZE];
    size_t got = 1;
    bool ok = true, ended = false;
    z_stream stream = { 0 };
    if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) {
        return error_set(to->err, ERROR_LIMIT, "out of memory");
    }
    for (uint64_t at = 0; ok && got > 0; at += got) {
        ok = source_get(source, at, piece, sizeof piece, &got, to->err);
        if (!ok || got == 0) {
            break;
        }
        if (ended && inflateReset(&stream) != Z_OK) {
            ok = error_set(to->err, ERROR_INVALID, "the archive is damaged (gzip)");
            break;
        }
        stream.next_in = (Bytef *)piece;
        stream.avail_in = (uInt)got;
        ok = inflate_piece(to, &stream, &ended);
    }
    inflateEnd(&stream);
    return ok && (ended || error_set(to->err, ERROR_INVALID, "the archive is truncated"));
}

static bool feed_by_program(Feed *to, const ArchiveSource *source, const char *const *argv,
                            const char *package)
{
    Tool tool = { .argv = argv,
                  .input = source->bytes,
                  .input_file = source->reader != NULL ? host_reader_descriptor(source->reader) : 0,
                  .take = feed_callback,
                  .sink_context = to };
    ProcessResult result;
    if (!tool_run(to->call, &tool, &result, to->err)) {
        return to->err->kind == ERROR_NOT_FOUND
                   ? error_wrap(to->err, "the archive is compressed with %s (package %s)", argv[0],
                                package)
                   : false;
    }
    if (result.ending == PROCESS_OUTPUT_REJECTED) {
        return false; /* feed() has set the error */
    }
    return (result.ending == PROCESS_EXITED && result.exit_code == 0) ||
           tool_failure(to->call, &tool, &result, to->err);
}

static bool feed_all(Feed *to, const ArchiveSource *source, ArchiveFormat format)
{
    /* The compressed data declares how much memory decompression needs, so limit it. */
    static const char *const xz[] = { "xz", "-dc", "--memlimit-decompress=512MiB", NULL };
    static const char *const zstd[] = { "zstd", "-dc", "-q", "--memory=512MB", NULL };
    static const char *const bzip2[] = { "bzip2", "-dc", NULL };
    switch (format) {
    case ARCHIVE_TAR_GZIP: return feed_gzip(to, source);
    case ARCHIVE_TAR_XZ: return feed_by_program(to, source, xz, "xz-utils");
    case ARCHIVE_TAR_ZSTD: return feed_by_program(to, source, zstd, "zstd");
    case ARCHIVE_TAR_BZIP2: return feed_by_program(to, source, bzip2, "bzip2");
    default: return feed_plain(to, source);
    }
}

/* --- Zip ------------------------------------------------------------------------------------- */

static bool read_exactly(void *context, uint64_t offset, char *buffer, size_t size, Error *err)
{
    size_t got;
    return source_get(context, offset, buffer, size, &got, err) &&
           (got == size || error_set(err, ERROR_INVALID, "the archive is truncated"));
}

bool archive_unpack(Call *call, const ArchiveSource *source, ArchiveFormat format, uint64_t max,
                    const MemberSink *sink, Error *err)
{
    if (format == ARCHIVE_ZIP) {
        ArchiveSource copy = *source;
        ZipSource zip = { .context = &copy, .read = read_exactly, .size = source_size(source) };
        return zip_read(&zip, sink, err);
    }
    Feed to = { .call = call, .left = max, .err = err };
    tar_init(&to.tar, sink);
    bool ok = feed_all(&to, source, format) && tar_finish(&to.tar, err);
    tar_clear(&to.tar);
    return ok;
}
