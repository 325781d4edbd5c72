/* Reads and writes the first line and the manifest of a backup. Reading is strict, since unknown
 * content could not be restored. */
#include "backup/backup_manifest.h"

#include <stdio.h>

#include "base/utc.h"
#include "lang/record.h"

enum {
    LENGTH_DIGITS = 8
};

static const struct {
    const char *name;
    bool needed;
    int64_t max;
} kinds[] = {
#define BACKUP_PART_ROW(constant, name, needed, max) [constant] = { name, needed, max },
    BACKUP_PARTS(BACKUP_PART_ROW)
#undef BACKUP_PART_ROW
};

const char *backup_part_name(BackupPartKind kind)
{
    return kinds[kind].name;
}

bool backup_part_is_required(BackupPartKind kind)
{
    return kinds[kind].needed;
}

/* --- JSON format ----------------------------------------------------------------------------- */

/* A part in the manifest, identified by its name. */
typedef struct PartRow {
    Str name;
    int64_t size;
    char digest[SHA256_HEX + 1];
} PartRow;

typedef struct ManifestRecord {
    BackupManifest manifest;
    Str time;
    /* larger than the number of parts, in order to report duplicates */
    PartRow parts[2 * BACKUP_PART_COUNT];
    uint32_t part_count;
} ManifestRecord;

static bool is_digest(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.data[i]) && (text.data[i] < 'a' || text.data[i] > 'f')) {
            return false;
        }
    }
    return text.len == SHA256_HEX;
}

static bool check_digest(Str text, Error *err)
{
    return is_digest(text) || error_set(err, ERROR_INVALID, "must be a SHA-256 digest");
}

static const RecordField part_fields[] = {
    { "name", RECORD_TEXT, RECORD_STR_AT(PartRow, name), .is_required = true,
      .help = "name of the part" },
    { "size", RECORD_INT, RECORD_INT_AT(PartRow, size), .is_required = true,
      .help = "its size in bytes" },
    { "digest", RECORD_TEXT, RECORD_CHARS_AT(PartRow, digest), .is_required = true,
      .check_text = check_digest, .help = "its SHA-256" },
    { 0 },
};

static const RecordField manifest_fields[] = {
    { "cluster", RECORD_TEXT, RECORD_CHARS_AT(ManifestRecord, manifest.cluster),
      .is_required = true, .check_text = cluster_name_check, .help = "name of the cluster" },
    { "node", RECORD_TEXT, RECORD_CHARS_AT(ManifestRecord, manifest.node), .is_required = true,
      .check_text = node_name_check, .help = "server that created it" },
    { "store", RECORD_TEXT, RECORD_CHARS_AT(ManifestRecord, manifest.store_id), .is_required = true,
      .help = "ID of the store" },
    { "version", RECORD_TEXT, RECORD_CHARS_AT(ManifestRecord, manifest.version),
      .is_required = true, .help = "version of eden" },
    { "time", RECORD_TEXT, RECORD_STR_AT(ManifestRecord, time), .is_required = true,
      .help = "when it was created" },
    { "time_ms", RECORD_INT, RECORD_INT_AT(ManifestRecord, manifest.time_ms), .is_required = true,
      .max = INT64_MAX, .help = "when it was created, in milliseconds" },
    { "revision", RECORD_INT, RECORD_INT_AT(ManifestRecord, manifest.revision), .is_required = true,
      .max = INT64_MAX, .help = "revision of the store" },
    { "parts", RECORD_OBJECT,
      RECORD_STRUCT_ARRAY_AT(ManifestRecord, parts, part_count, PartRow, part_fields),
      .is_required = true, .help = "its parts" },
    { 0 },
};

/* The formats differ in the required parts. */
static const char *const formats[] = { BACKUP_FORMAT_1, BACKUP_FORMAT };
_Static_assert(sizeof BACKUP_FORMAT_1 == sizeof BACKUP_FORMAT, "first lines have the same length");

static RecordFormat format_of(uint32_t format)
{
    return (RecordFormat){ .format = formats[format - 1],
                           .what = "the manifest",
                           .fields = manifest_fields,
                           .size = sizeof(ManifestRecord),
                           .text_max = BACKUP_MANIFEST_MAX };
}

/* --- Printing -------------------------------------------------------------------------------- */

static void put_manifest(const BackupManifest *manifest, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    ManifestRecord record = { .manifest = *manifest, .time = utc_text(&arena, manifest->time_ms) };
    RecordFormat format = format_of(manifest->format);
    for (uint32_t i = 0; i < BACKUP_STORE; i++) {
        const BackupPart *part = &manifest->parts[i];
        if (part->is_present) {
            PartRow *row = &record.parts[record.part_count++];
            *row = (PartRow){ .name = str_from_c(kinds[i].name), .size = part->size };
            memcpy(row->digest, part->digest, sizeof row->digest);
        }
    }
    record_print(&format, &record, out);
    buf_put_char(out, '\n');
}

void backup_head_print(const BackupManifest *manifest, Buf *out)
{
    Buf text = buf_make(BUF_UNLIMITED);
    char digest[SHA256_HEX + 1];
    put_manifest(manifest, &text);
    sha256_hex(buf_str(&text), digest);
    buf_put_format(out, "%s %0*zu %s\n", formats[manifest->format - 1], LENGTH_DIGITS, text.len,
                   digest);
    buf_put(out, buf_str(&text));
    buf_clear(&text);
}

/* --- Parsing --------------------------------------------------------------------------------- */

/* The format version in the first line; 0 if unknown. */
static uint32_t read_format(Str line)
{
    size_t len = sizeof BACKUP_FORMAT - 1;
    for (uint32_t i = 0; i < COUNT_OF(formats); i++) {
        if (str_starts(line, str_from_c(formats[i])) && line.len > len && line.data[len] == ' ') {
            return i + 1;
        }
    }
    return 0;
}

bool backup_line_read(Str line, BackupLine *out, Error *err)
{
    static const char start[] = BACKUP_FORMAT " ";
    uint32_t format = read_format(line);
    Str family = STR("eden.backup/"),
        length = str_slice(line, sizeof start - 1, sizeof start - 1 + LENGTH_DIGITS);
    if (!str_starts(line, family)) {
        return error_set(err, ERROR_INVALID, "this is not an eden backup");
    }
    if (format == 0) {
        size_t space = str_find(line, STR(" "), 0);
        Str version = str_slice(line, 0, space > 32 ? 32 : space);
        return error_set(err, ERROR_INVALID,
                         "this backup has a different format version, '%" STR_FMT
                         "'; this version of eden supports " BACKUP_FORMAT_1 " and " BACKUP_FORMAT,
                         STR_ARG(version));
    }
    Str digest = str_slice(line, line.len - SHA256_HEX - 1, line.len - 1);
    uint64_t number = 0;
    for (size_t i = 0; i < length.len; i++) {
        if (!ascii_is_digit(length.data[i])) {
            number = UINT64_MAX;
            break;
        }
        number = number * 10 + (uint64_t)(length.data[i] - '0');
    }
    if (line.len != BACKUP_LINE || line.data[BACKUP_LINE - 1] != '\n' ||
        line.data[sizeof start - 1 + LENGTH_DIGITS] != ' ' || !is_digest(digest) || number == 0 ||
        number > BACKUP_MANIFEST_MAX) {
        return error_set(err, ERROR_INVALID, "the first line is damaged or truncated");
    }
    out->format = format;
    out->length = (size_t)number;
    snprintf(out->digest, sizeof out->digest, "%" STR_FMT, STR_ARG(digest));
    return true;
}

static bool read_part(const PartRow *row, BackupManifest *manifest, int *last, Error *err)
{
    int kind = 0;
    int count = manifest->format == 1 ? BACKUP_SNAPSHOT + 1 : BACKUP_FILES;
    while (kind < count && !str_eq_c(row->name, kinds[kind].name)) {
        kind++;
    }
    if (kind == count) {
        return error_set(err, ERROR_INVALID,
                         "it has a part that this version of eden does not support");
    }
    if (kind <= *last) {
        return error_set(err, ERROR_INVALID, "the part '%s' appears twice or in the wrong place",
                         kinds[kind].name);
    }
    if (row->size < 0 || row->size > kinds[kind].max) {
        return error_set(err, ERROR_LIMIT, "the part '%s' has an invalid size", kinds[kind].name);
    }
    BackupPart *part = &manifest->parts[kind];
    *part = (BackupPart){ .is_present = true, .size = row->size };
    memcpy(part->digest, row->digest, sizeof part->digest);
    *last = kind;
    return true;
}

static bool read_parts(const ManifestRecord *record, BackupManifest *manifest, Error *err)
{
    int last = -1;
    for (uint32_t i = 0; i < record->part_count; i++) {
        if (!read_part(&record->parts[i], manifest, &last, err)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < BACKUP_PART_COUNT; i++) {
        bool needed = kinds[i].needed || (manifest->format == 1 && i == BACKUP_SNAPSHOT);
        if (needed && !manifest->parts[i].is_present) {
            return error_set(err, ERROR_INVALID, "the part '%s' is missing", kinds[i].name);
        }
    }
    return true;
}

/* Strict: unknown content would be lost silently. */
bool backup_manifest_read(Arena *arena, Str text, uint32_t format, BackupManifest *out, Error *err)
{
    ManifestRecord record;
    RecordFormat record_format = format_of(format);
    if (!record_read(&record_format, arena, text, RECORD_EXTERNAL, &record, err)) {
        return false;
    }
    *out = record.manifest;
    out->format = format;
    return read_parts(&record, out, err) || error_wrap(err, "%s", record_format.what);
}
