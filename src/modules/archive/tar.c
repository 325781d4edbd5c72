/* Incremental parser for tar: a state machine over blocks of 512 bytes. A header selects the
 * next state: file content, an extended header (pax records, GNU long names) that applies to the
 * next header, or data to skip. Every state ends with padding up to a full block. */
#include "modules/archive/tar.h"

/* Offsets and lengths of the header's fields. */
enum {
    OFFSET_NAME = 0,
    NAME_LEN = 100,
    OFFSET_MODE = 100,
    OFFSET_SIZE = 124,
    OFFSET_MTIME = 136,
    OFFSET_CHECKSUM = 148,
    CHECKSUM_LEN = 8,
    OFFSET_KIND = 156,
    OFFSET_TARGET = 157,
    OFFSET_MAGIC = 257,
    OFFSET_PREFIX = 345,
    PREFIX_LEN = 155,
    MODE_LEN = 8,
    NUMBER_LEN = 12,
};

static bool invalid(Error *err, const char *what)
{
    return error_set(err, ERROR_INVALID, "not a tar archive: %s", what);
}

/* --- Fields ---------------------------------------------------------------------------------- */

static Str field_text(const char *block, size_t at, size_t len)
{
    const char *end = memchr(block + at, '\0', len);
    return str_from(block + at, end == NULL ? len : (size_t)(end - block - at));
}

/* Octal digits, or a number in base 256 if the first bit is set, as GNU tar writes large ones. */
static bool field_number(const char *block, size_t at, size_t len, uint64_t *out)
{
    const unsigned char *bytes = (const unsigned char *)block + at;
    *out = 0;
    if ((bytes[0] & 0x80) != 0) {
        for (size_t i = 0; i < len; i++) {
            uint64_t byte = i == 0 ? bytes[0] & 0x7f : bytes[i];
            if (*out >> 55 != 0) {
                return false;
            }
            *out = *out << 8 | byte;
        }
        return true;
    }
    Str text = str_trim(field_text(block, at, len));
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '7' || *out >> 60 != 0) {
            return false;
        }
        *out = *out << 3 | (uint64_t)(text.data[i] - '0');
    }
    return true;
}

/* The checksum counts its own field as spaces. Some old programs sum signed bytes. */
static bool checksum_matches(const char *block)
{
    uint64_t wanted;
    int64_t plain = 0, with_sign = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        bool own = i >= OFFSET_CHECKSUM && i < OFFSET_CHECKSUM + CHECKSUM_LEN;
        plain += own ? ' ' : (unsigned char)block[i];
        with_sign += own ? ' ' : (signed char)block[i];
    }
    return field_number(block, OFFSET_CHECKSUM, CHECKSUM_LEN, &wanted) &&
           ((int64_t)wanted == plain || (int64_t)wanted == with_sign);
}

bool tar_is_header(Str text)
{
    return text.len >= TAR_BLOCK && text.data[0] != '\0' && checksum_matches(text.data);
}

/* --- Extended headers ------------------------------------------------------------------------ */

static bool store_name(TarName *name, Str text, Error *err)
{
    if (text.len > MEMBER_NAME_MAX) {
        return error_set(err, ERROR_INVALID, "a name in the archive is longer than %d bytes",
                         MEMBER_NAME_MAX);
    }
    memcpy(name->text, text.data, text.len);
    name->len = text.len;
    name->is_set = true;
    return true;
}

static bool parse_record(Tar *tar, Str key, Str value, Error *err)
{
    if (str_eq(key, STR("path"))) {
        return store_name(&tar->name, value, err);
    }
    if (str_eq(key, STR("linkpath"))) {
        return store_name(&tar->target, value, err);
    }
    if (str_eq(key, STR("size"))) {
        tar->has_size = str_to_u64(value, &tar->size);
        return tar->has_size || invalid(err, "a size is not a number");
    }
    if (str_starts(key, STR("GNU.sparse"))) {
        return error_set(err, ERROR_INVALID,
                         "the archive contains sparse files, which are not supported");
    }
    return true;
}

/* Records "LEN KEY=VALUE\n", where LEN counts the entire record. */
static bool parse_records(Tar *tar, Str text, Error *err)
{
    while (text.len > 0) {
        size_t blank = str_find(text, STR(" "), 0);
        uint64_t len = 0;
        if (blank == STR_NOT_FOUND || !str_to_u64(str_slice(text, 0, blank), &len) ||
            len <= blank + 1 || len > text.len || text.data[len - 1] != '\n') {
            return invalid(err, "its extended header is damaged");
        }
        Str record = str_slice(text, blank + 1, (size_t)len - 1);
        size_t equals = str_find(record, STR("="), 0);
        if (equals == STR_NOT_FOUND) {
            return invalid(err, "its extended header is damaged");
        }
        if (!parse_record(tar, str_slice(record, 0, equals), str_from_offset(record, equals + 1),
                          err)) {
            return false;
        }
        text = str_from_offset(text, (size_t)len);
    }
    return true;
}

static bool end_extra(Tar *tar, Error *err)
{
    Str text = buf_str(&tar->extra);
    const char *end = memchr(text.data, '\0', text.len);
    Str plain = end == NULL ? text : str_slice(text, 0, (size_t)(end - text.data));
    switch (tar->kind) {
    case 'L': return store_name(&tar->name, plain, err);
    case 'K': return store_name(&tar->target, plain, err);
    default: return parse_records(tar, text, err);
    }
}

static bool begin_extra(Tar *tar, Error *err)
{
    if (tar->left > TAR_EXTRA_MAX) {
        return error_set(err, ERROR_LIMIT, "the archive has a header of more than %d bytes",
                         TAR_EXTRA_MAX);
    }
    buf_reset(&tar->extra);
    tar->state = tar->left > 0 ? TAR_EXTRA : TAR_HEADER;
    return tar->left > 0 || end_extra(tar, err);
}

/* --- Members --------------------------------------------------------------------------------- */

static Str extended_name(const TarName *name)
{
    return str_from(name->text, name->len);
}

/* Returns the name in the header itself, assembled in `buffer`. */
static Str header_name(const char *block, char buffer[NAME_LEN + 1 + PREFIX_LEN])
{
    Str name = field_text(block, OFFSET_NAME, NAME_LEN);
    Str prefix = field_text(block, OFFSET_PREFIX, PREFIX_LEN);
    /* GNU tar uses the prefix field for other data, and has a different magic: "ustar  ". */
    if (memcmp(block + OFFSET_MAGIC, "ustar\0", 6) != 0 || prefix.len == 0) {
        return name;
    }
    memcpy(buffer, prefix.data, prefix.len);
    buffer[prefix.len] = '/';
    memcpy(buffer + prefix.len + 1, name.data, name.len);
    return str_from(buffer, prefix.len + 1 + name.len);
}

static bool member_kind(char kind, Str name, MemberKind *out)
{
    switch (kind) {
    case '\0':
    case '0':
    case '7': *out = str_ends(name, STR("/")) ? MEMBER_DIRECTORY : MEMBER_FILE; return true;
    case '1': *out = MEMBER_HARD_LINK; return true;
    case '2': *out = MEMBER_LINK; return true;
    case '5': *out = MEMBER_DIRECTORY; return true;
    default: return false;
    }
}

static bool begin_member(Tar *tar, Error *err)
{
    char buffer[NAME_LEN + 1 + PREFIX_LEN];
    Member member = { .name = tar->name.is_set ? extended_name(&tar->name)
                                               : header_name(tar->block, buffer),
                      .target = tar->target.is_set
                                    ? extended_name(&tar->target)
                                    : field_text(tar->block, OFFSET_TARGET, NAME_LEN) };
    uint64_t mode, mtime;
    if (!member_kind(tar->kind, member.name, &member.kind)) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT
                         "' in the archive is not a file, directory or link (type '%c')",
                         STR_ARG(str_slice(member.name, 0, 100)), tar->kind);
    }
    if (!field_number(tar->block, OFFSET_MODE, MODE_LEN, &mode)) {
        return invalid(err, "a mode is not a number");
    }
    /* Times before 1970 are written as signed base 256. */
    bool has_time =
        field_number(tar->block, OFFSET_MTIME, NUMBER_LEN, &mtime) && mtime < INT32_MAX * 4ll;
    member.mode = (mode_t)(mode & 07777);
    member.mtime_s = has_time ? (int64_t)mtime : 0;
    member.size = member.kind == MEMBER_FILE ? tar->left : 0;
    tar->name.is_set = tar->target.is_set = tar->has_size = false;
    if (!tar->sink->begin(tar->sink->context, &member, err)) {
        return false;
    }
    if (member.kind == MEMBER_FILE && tar->left > 0) {
        tar->state = TAR_DATA;
        return true;
    }
    /* Other members have no data, but old programs set a size for hard links. */
    bool empty = member.kind != MEMBER_FILE && member.kind != MEMBER_DIRECTORY;
    tar->left = empty ? 0 : tar->left;
    tar->state = tar->left > 0 ? TAR_SKIP : TAR_HEADER;
    return tar->sink->end(tar->sink->context, err);
}

static bool begin_block(Tar *tar, Error *err)
{
    uint64_t size;
    tar->filled = 0;
    if (tar->block[0] == '\0') {
        for (size_t i = 1; i < TAR_BLOCK; i++) {
            if (tar->block[i] != '\0') {
                return invalid(err, "a member without a name");
            }
        }
        tar->state = TAR_END;
        return true;
    }
    if (!checksum_matches(tar->block) ||
        !field_number(tar->block, OFFSET_SIZE, NUMBER_LEN, &size)) {
        return invalid(err, tar->started ? "a header is damaged" : "no header at its start");
    }
    tar->started = true;
    tar->kind = tar->block[OFFSET_KIND];
    bool extra = tar->kind == 'x' || tar->kind == 'L' || tar->kind == 'K';
    bool ignored = tar->kind == 'g' || tar->kind == 'V';
    tar->left = !extra && !ignored && tar->has_size ? tar->size : size;
    if (tar->left > INT64_MAX) {
        return invalid(err, "a size is too large");
    }
    tar->padding = (TAR_BLOCK - tar->left % TAR_BLOCK) % TAR_BLOCK;
    if (extra) {
        return begin_extra(tar, err);
    }
    if (ignored) {
        tar->state = tar->left > 0 ? TAR_SKIP : TAR_HEADER;
        return true;
    }
    return begin_member(tar, err);
}

/* --- Reading --------------------------------------------------------------------------------- */

static void end_content(Tar *tar)
{
    tar->left = tar->padding;
    tar->padding = 0;
    tar->state = tar->left > 0 ? TAR_PADDING : TAR_HEADER;
}

static bool feed_header(Tar *tar, Str *piece, Error *err)
{
    Str part = str_slice(*piece, 0, TAR_BLOCK - tar->filled);
    memcpy(tar->block + tar->filled, part.data, part.len);
    tar->filled += part.len;
    *piece = str_from_offset(*piece, part.len);
    return tar->filled < TAR_BLOCK || begin_block(tar, err);
}

static bool feed_content(Tar *tar, Str *piece, Error *err)
{
    Str part = str_slice(*piece, 0, tar->left < piece->len ? (size_t)tar->left : piece->len);
    *piece = str_from_offset(*piece, part.len);
    tar->left -= part.len;
    switch (tar->state) {
    case TAR_DATA:
        if (!tar->sink->data(tar->sink->context, part, err) ||
            (tar->left == 0 && !tar->sink->end(tar->sink->context, err))) {
            return false;
        }
        break;
    case TAR_EXTRA:
        buf_put(&tar->extra, part);
        if (tar->left == 0 && !end_extra(tar, err)) {
            return false;
        }
        break;
    default: break;
    }
    if (tar->left == 0) {
        end_content(tar);
    }
    return true;
}

void tar_init(Tar *tar, const MemberSink *sink)
{
    *tar = (Tar){ .sink = sink, .extra = buf_make(TAR_EXTRA_MAX) };
}

void tar_clear(Tar *tar)
{
    buf_clear(&tar->extra);
}

bool tar_feed(Tar *tar, Str piece, Error *err)
{
    while (piece.len > 0 && tar->state != TAR_END) {
        bool ok = tar->state == TAR_HEADER ? feed_header(tar, &piece, err)
                                           : feed_content(tar, &piece, err);
        if (!ok) {
            return false;
        }
    }
    return true;
}

bool tar_finish(Tar *tar, Error *err)
{
    /* An archive ends with blocks of zeros; without them it may be truncated. */
    return tar->state == TAR_END ||
           invalid(err, tar->started || tar->filled > 0 ? "it is truncated" : "it is empty");
}
