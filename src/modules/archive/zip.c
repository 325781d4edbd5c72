/* Parser for zip: searches backward for the end record, reads the central directory that it refers
 * to, and then each member through its entry. Names and sizes come from that directory only, never
 * from local headers. */
#include "modules/archive/zip.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

/* Records of the format; integers are little-endian. */
enum {
    MEMBER_SIGNATURE = 0x04034b50,
    MEMBER_LEN = 30,
    ENTRY_SIGNATURE = 0x02014b50,
    ENTRY_LEN = 46,
    END_SIGNATURE = 0x06054b50,
    END_LEN = 22,
    END_COMMENT_MAX = 0xffff,
    LOCATOR64_SIGNATURE = 0x07064b50,
    LOCATOR64_LEN = 20,
    END64_SIGNATURE = 0x06064b50,
    END64_LEN = 56,
    EXTRA64 = 0x0001,
    MADE_BY_UNIX = 3,
    MADE_BY_DARWIN = 19,
    FLAG_ENCRYPTED = 1,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    ALL_ONES_16 = 0xffff,
    DOS_DIRECTORY = 0x10,
    CHUNK_SIZE = 32 << 10,
};
#define ALL_ONES_32 0xffffffffu

typedef struct Entry {
    uint16_t made_by, flags, method;
    uint32_t crc, attributes;
    uint64_t packed, size, offset;
    uint16_t name_len, extra_len, comment_len;
    uint16_t time, date;
} Entry;

typedef struct Zip {
    const ZipSource *source;
    const MemberSink *sink;
    uint64_t directory, directory_size, count;
    char name[MEMBER_NAME_MAX];
    char extra[ALL_ONES_16];
    char in[CHUNK_SIZE], out[CHUNK_SIZE];
} Zip;

static uint16_t get16(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t get32(const char *at)
{
    return get16(at) | (uint32_t)get16(at + 2) << 16;
}

static uint64_t get64(const char *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

static bool invalid(Error *err, const char *what)
{
    return error_set(err, ERROR_INVALID, "not a zip archive: %s", what);
}

static bool read_at(const Zip *zip, uint64_t offset, char *buffer, size_t size, Error *err)
{
    if (offset > zip->source->size || size > zip->source->size - offset) {
        return invalid(err, "it is truncated");
    }
    return zip->source->read(zip->source->context, offset, buffer, size, err);
}

bool zip_is_start(Str text)
{
    return text.len >= 4 &&
           (get32(text.data) == MEMBER_SIGNATURE || get32(text.data) == END_SIGNATURE);
}

/* --- Central directory ----------------------------------------------------------------------- */

/* A comment of any length may follow the end record. */
static bool find_end(Zip *zip, uint64_t *at, char record[END_LEN], Error *err)
{
    uint64_t size = zip->source->size;
    size_t window = size < END_LEN + END_COMMENT_MAX ? (size_t)size : END_LEN + END_COMMENT_MAX;
    char *tail = malloc(window + 1);
    if (tail == NULL) {
        return error_set(err, ERROR_LIMIT, "out of memory");
    }
    bool found = false, ok = read_at(zip, size - window, tail, window, err);
    for (size_t i = window; ok && !found && i >= END_LEN; i--) {
        const char *here = tail + i - END_LEN;
        found = get32(here) == END_SIGNATURE && i + get16(here + END_LEN - 2) == window;
        if (found) {
            memcpy(record, here, END_LEN);
            *at = size - window + i - END_LEN;
        }
    }
    free(tail);
    return ok && (found || invalid(err, "its directory is missing"));
}

static bool find_directory(Zip *zip, Error *err)
{
    char record[END_LEN] = { 0 }, locator[LOCATOR64_LEN], large[END64_LEN];
    uint64_t at = 0;
    if (!find_end(zip, &at, record, err)) {
        return false;
    }
    zip->count = get16(record + 10);
    zip->directory_size = get32(record + 12);
    zip->directory = get32(record + 16);
    if (zip->count != ALL_ONES_16 && zip->directory_size != ALL_ONES_32 &&
        zip->directory != ALL_ONES_32) {
        return true;
    }
    if (at < LOCATOR64_LEN) {
        return true;
    }
    if (!read_at(zip, at - LOCATOR64_LEN, locator, sizeof locator, err)) {
        return false;
    }
    if (get32(locator) != LOCATOR64_SIGNATURE) {
        return true;
    }
    if (!read_at(zip, get64(locator + 8), large, sizeof large, err)) {
        return false;
    }
    zip->count = get64(large + 32);
    zip->directory_size = get64(large + 40);
    zip->directory = get64(large + 48);
    return get32(large) == END64_SIGNATURE || invalid(err, "its directory is damaged");
}

/* Values that do not fit are in the extra field: only those, in this order. */
static bool read_extra(const Zip *zip, Entry *entry, Error *err)
{
    Str rest = str_from(zip->extra, entry->extra_len);
    uint64_t *const fields[] = { &entry->size, &entry->packed, &entry->offset };
    while (rest.len >= 4) {
        size_t len = get16(rest.data + 2);
        if (len > rest.len - 4) {
            return true; /* some programs leave invalid data there */
        }
        Str data = str_slice(rest, 4, 4 + len);
        for (size_t i = 0; get16(rest.data) == EXTRA64 && i < COUNT_OF(fields); i++) {
            if (*fields[i] != ALL_ONES_32) {
                continue;
            }
            if (data.len < 8) {
                return invalid(err, "its directory is damaged");
            }
            *fields[i] = get64(data.data);
            data = str_from_offset(data, 8);
        }
        rest = str_from_offset(rest, 4 + len);
    }
    return true;
}

static bool read_entry(Zip *zip, uint64_t *at, Entry *entry, Error *err)
{
    char record[ENTRY_LEN];
    if (!read_at(zip, *at, record, sizeof record, err)) {
        return false;
    }
    if (get32(record) != ENTRY_SIGNATURE) {
        return invalid(err, "its directory is damaged");
    }
    *entry = (Entry){
        .made_by = get16(record + 4) >> 8,
        .flags = get16(record + 8),
        .method = get16(record + 10),
        .time = get16(record + 12),
        .date = get16(record + 14),
        .crc = get32(record + 16),
        .packed = get32(record + 20),
        .size = get32(record + 24),
        .name_len = get16(record + 28),
        .extra_len = get16(record + 30),
        .comment_len = get16(record + 32),
        .attributes = get32(record + 38),
        .offset = get32(record + 42),
    };
    if (entry->name_len > MEMBER_NAME_MAX) {
        return error_set(err, ERROR_INVALID, "a name in the archive is longer than %d bytes",
                         MEMBER_NAME_MAX);
    }
    uint64_t name_at = *at + ENTRY_LEN;
    *at = name_at + entry->name_len + entry->extra_len + entry->comment_len;
    return read_at(zip, name_at, zip->name, entry->name_len, err) &&
           read_at(zip, name_at + entry->name_len, zip->extra, entry->extra_len, err) &&
           read_extra(zip, entry, err);
}

/* --- Members --------------------------------------------------------------------------------- */

/* The time zone is unknown; treated as UTC. */
static int64_t entry_time(const Entry *entry)
{
    int64_t year = 1980 + (entry->date >> 9), month = entry->date >> 5 & 15, day = entry->date & 31;
    /* Days since 1970 in the civil calendar, with years starting in March. */
    int64_t from_march = (month + 9) % 12;
    int64_t shifted = year - (month <= 2);
    int64_t days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 +
                   (153 * from_march + 2) / 5 + day - 1 - 719468;
    return days * 86400 + (entry->time >> 11) * 3600 + (entry->time >> 5 & 63) * 60 +
           (entry->time & 31) * 2;
}

static bool entry_member(const Zip *zip, const Entry *entry, Member *member, Error *err)
{
    Str name = str_from(zip->name, entry->name_len);
    bool unix_made = entry->made_by == MADE_BY_UNIX || entry->made_by == MADE_BY_DARWIN;
    mode_t mode = unix_made ? (mode_t)(entry->attributes >> 16) : 0;
    bool directory = str_ends(name, STR("/")) || (!unix_made && entry->attributes & DOS_DIRECTORY);
    *member = (Member){ .kind = directory ? MEMBER_DIRECTORY : MEMBER_FILE,
                        .name = name,
                        .mode = mode & 07777,
                        .size = directory ? 0 : entry->size,
                        .mtime_s = entry_time(entry) };
    if ((mode & 07777) == 0) {
        member->mode = directory ? 0755 : 0644;
    }
    switch (mode & S_IFMT) {
    case 0:
    case S_IFREG:
    case S_IFDIR: return true;
    case S_IFLNK: member->kind = MEMBER_LINK; return true;
    default:
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' in the archive is not a file, directory or link",
                         STR_ARG(str_slice(name, 0, 100)));
    }
}

typedef bool (*ChunkHandler)(void *context, Str piece, Error *err);

/* The content of a member while it is read. */
typedef struct Content {
    ChunkHandler take;
    void *context;
    uint64_t left; /* remaining bytes according to the directory */
    uint32_t crc;  /* checksum of the content so far */
} Content;

static bool content_write(Content *content, const char *data, size_t len, Error *err)
{
    if (len > content->left) {
        return invalid(err, "a member is larger than its directory entry");
    }
    content->left -= len;
    content->crc = (uint32_t)crc32(content->crc, (const Bytef *)data, (uInt)len);
    return len == 0 || content->take(content->context, str_from(data, len), err);
}

static bool copy_stored(Zip *zip, uint64_t at, Content *content, Error *err)
{
    while (content->left > 0) {
        size_t piece = content->left < CHUNK_SIZE ? (size_t)content->left : CHUNK_SIZE;
        if (!read_at(zip, at, zip->in, piece, err) ||
            !content_write(content, zip->in, piece, err)) {
            return false;
        }
        at += piece;
    }
    return true;
}

static bool inflate_some(Zip *zip, z_stream *stream, Content *content, bool *ended, Error *err)
{
    stream->next_out = (Bytef *)zip->out;
    stream->avail_out = CHUNK_SIZE;
    int result = inflate(stream, Z_NO_FLUSH);
    size_t produced = CHUNK_SIZE - stream->avail_out;
    *ended = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        return invalid(err, "a member is damaged");
    }
    return content_write(content, zip->out, produced, err);
}

static bool copy_deflated(Zip *zip, uint64_t at, uint64_t packed, Content *content, Error *err)
{
    z_stream stream = { 0 };
    bool ok = true, ended = false;
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
        return error_set(err, ERROR_LIMIT, "out of memory");
    }
    while (ok && !ended) {
        if (stream.avail_in == 0 && packed > 0) {
            size_t piece = packed < CHUNK_SIZE ? (size_t)packed : CHUNK_SIZE;
            ok = read_at(zip, at, zip->in, piece, err);
            at += piece;
            packed -= piece;
            stream.next_in = (Bytef *)zip->in;
            stream.avail_in = (uInt)piece;
        } else if (stream.avail_in == 0 && stream.avail_out > 0) {
            break; /* the compressed data is incomplete */
        }
        ok = ok && inflate_some(zip, &stream, content, &ended, err);
    }
    inflateEnd(&stream);
    return ok && ((ended && content->left == 0) || invalid(err, "a member is damaged"));
}

static bool copy_data(Zip *zip, const Entry *entry, ChunkHandler take, void *context, Error *err)
{
    char record[MEMBER_LEN];
    Content content = { .take = take, .context = context, .left = entry->size };
    if (!read_at(zip, entry->offset, record, sizeof record, err)) {
        return false;
    }
    if (get32(record) != MEMBER_SIGNATURE) {
        return invalid(err, "a member is damaged");
    }
    uint64_t at = entry->offset + MEMBER_LEN + get16(record + 26) + get16(record + 28);
    if (entry->flags & FLAG_ENCRYPTED) {
        return error_set(err, ERROR_INVALID, "the archive is encrypted");
    }
    if (entry->method == METHOD_STORED) {
        if (entry->packed != entry->size) {
            return invalid(err, "its directory is damaged");
        }
        if (!copy_stored(zip, at, &content, err)) {
            return false;
        }
    } else if (entry->method == METHOD_DEFLATED) {
        if (!copy_deflated(zip, at, entry->packed, &content, err)) {
            return false;
        }
    } else {
        return error_set(err, ERROR_INVALID,
                         "the archive uses compression method %u, which is not supported",
                         entry->method);
    }
    return content.crc == entry->crc || invalid(err, "a member is damaged: its checksum differs");
}

typedef struct LinkText {
    char text[MEMBER_NAME_MAX];
    size_t len;
} LinkText;

static bool read_link(void *context, Str piece, Error *err)
{
    LinkText *link = context;
    if (piece.len > sizeof link->text - link->len) {
        return error_set(err, ERROR_INVALID, "a link in the archive is longer than %d bytes",
                         MEMBER_NAME_MAX);
    }
    memcpy(link->text + link->len, piece.data, piece.len);
    link->len += piece.len;
    return true;
}

static bool read_member(Zip *zip, const Entry *entry, Error *err)
{
    const MemberSink *sink = zip->sink;
    Member member;
    LinkText link = { .len = 0 };
    if (!entry_member(zip, entry, &member, err)) {
        return false;
    }
    if (member.kind == MEMBER_LINK) {
        if (!copy_data(zip, entry, read_link, &link, err)) {
            return false;
        }
        member.target = str_from(link.text, link.len);
    }
    return sink->begin(sink->context, &member, err) &&
           (member.kind != MEMBER_FILE || copy_data(zip, entry, sink->data, sink->context, err)) &&
           sink->end(sink->context, err);
}

static bool read_all(Zip *zip, Error *err)
{
    if (!find_directory(zip, err)) {
        return false;
    }
    uint64_t at = zip->directory;
    for (uint64_t i = 0; i < zip->count; i++) {
        Entry entry;
        if (!read_entry(zip, &at, &entry, err) || !read_member(zip, &entry, err)) {
            return false;
        }
    }
    return true;
}

bool zip_read(const ZipSource *source, const MemberSink *sink, Error *err)
{
    Zip *zip = malloc(sizeof *zip);
    if (zip == NULL) {
        return error_set(err, ERROR_LIMIT, "out of memory");
    }
    zip->source = source;
    zip->sink = sink;
    bool ok = read_all(zip, err);
    free(zip);
    return ok;
}
