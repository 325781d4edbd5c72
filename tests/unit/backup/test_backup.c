/* Backups of both formats, written and read, and invalid files. */
#include "backup/backup_reader.h"

#include "unit.h"

static uint32_t format; /* of the backup created by tests */

typedef struct Taken {
    BackupManifest manifest;
    Buf parts[BACKUP_PART_COUNT];
    uint32_t manifests;
    bool refuses;
} Taken;

static const char *const contents[BACKUP_PART_COUNT] = {
    [BACKUP_SETTINGS] = "{}",
    [BACKUP_CA] = "the CA",
    [BACKUP_SSH_KEY] = "",
    [BACKUP_SNAPSHOT] = "a store that is somewhat longer than all others",
};

/* For the store 'abc' at revision 42, with a key. */
static void put_dump(Buf *out)
{
    static const char head[] = "eden.store/1\n\0\0\0\0\0\0\0\x2a\x03"
                               "abc";
    static const char record[] = "k\0\0\0\x01\0\0\0\x02"
                                 "avv";
    char content[SHA256_HEX + 1], digest[SHA256_HEX + 1];
    AUTO_CLEAR(Buf) sealed = buf_make(BUF_UNLIMITED);
    sha256_hex(str_from(record, sizeof record - 1), content);
    buf_put(&sealed, str_from(head, sizeof head - 1));
    buf_put(&sealed, STR("\0\0\0\0\0\0\0\x01"));
    buf_put_c(&sealed, content);
    sha256_hex(buf_str(&sealed), digest);
    buf_put(out, str_from(head, sizeof head - 1));
    buf_put(out, str_from(record, sizeof record - 1));
    buf_put(out, STR("e\0\0\0\0\0\0\0\x01"));
    buf_put_c(out, content);
    buf_put_c(out, digest);
}

static bool has_part(uint32_t kind)
{
    return format == 1 ? contents[kind] != NULL
                       : kind == BACKUP_STORE || (kind < BACKUP_FILES && contents[kind] != NULL);
}

static bool take_manifest(void *context, const BackupManifest *manifest, Error *err)
{
    Taken *taken = context;
    taken->manifest = *manifest;
    taken->manifests++;
    return true;
}

static bool take_piece(void *context, BackupPartKind kind, Str chunk, Error *err)
{
    Taken *taken = context;
    assert_int_equal(taken->manifests, 1);
    assert_true(chunk.len > 0);
    buf_put(&taken->parts[kind], chunk);
    return !taken->refuses || error_set(err, ERROR_OS, "the disk is full");
}

static void clear(Taken *taken)
{
    for (uint32_t i = 0; i < BACKUP_PART_COUNT; i++) {
        buf_clear(&taken->parts[i]);
    }
}

static void make(Buf *out)
{
    BackupManifest manifest = { .format = format,
                                .cluster = "blue",
                                .node = "s1",
                                .store_id = "abc",
                                .version = "1.0",
                                .time_ms = 1800000000000,
                                .revision = 42 };
    for (uint32_t i = 0; i < BACKUP_PART_COUNT; i++) {
        if (has_part(i) && i != BACKUP_STORE) {
            BackupPart *part = &manifest.parts[i];
            *part = (BackupPart){ .is_present = true, .size = (int64_t)strlen(contents[i]) };
            sha256_hex(str_from_c(contents[i]), part->digest);
        }
    }
    *out = buf_make(BUF_UNLIMITED);
    backup_head_print(&manifest, out);
    for (uint32_t i = 0; i < BACKUP_STORE; i++) {
        buf_put(out, has_part(i) ? str_from_c(contents[i]) : STR_EMPTY);
    }
    if (format == 2) {
        put_dump(out);
    }
}

static bool read_in(Str file, size_t chunk, Taken *taken, Error *err)
{
    BackupReader reader;
    backup_reader_init(&reader, &(BackupSink){ take_manifest, take_piece, taken });
    bool ok = true;
    while (ok && file.len > 0) {
        ok = backup_reader_feed(&reader, str_slice(file, 0, chunk), err);
        file = str_from_offset(file, chunk);
    }
    ok = ok && backup_reader_finish(&reader, err);
    if (ok) {
        taken->manifest = reader.manifest;
    }
    backup_reader_clear(&reader);
    return ok;
}

static Taken nothing(void)
{
    Taken taken = { 0 };
    for (uint32_t i = 0; i < BACKUP_PART_COUNT; i++) {
        taken.parts[i] = buf_make(BUF_UNLIMITED);
    }
    return taken;
}

static void a_backup_survives_a_round_trip(void **state)
{
    static const size_t chunks[] = { 1, 2, 7, 88, 89, 1000, 100000 };
    Buf file;
    make(&file);
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        Taken taken = nothing();
        Error err = { 0 };
        if (!read_in(buf_str(&file), chunks[i], &taken, &err)) {
            fail_msg("%zu: %s", chunks[i], err.text);
        }
        assert_string_equal(taken.manifest.cluster, "blue");
        assert_string_equal(taken.manifest.store_id, "abc");
        assert_int_equal(taken.manifest.revision, 42);
        assert_int_equal(taken.manifest.time_ms, 1800000000000);
        for (uint32_t j = 0; j < BACKUP_PART_COUNT; j++) {
            assert_int_equal(taken.manifest.parts[j].is_present, has_part(j));
            assert_int_equal(taken.manifest.parts[j].size, taken.parts[j].len);
            if (has_part(j) && j != BACKUP_STORE) {
                assert_true(str_eq(buf_str(&taken.parts[j]), str_from_c(contents[j])));
            }
        }
        clear(&taken);
    }
    buf_clear(&file);
}

static void every_truncation_is_detected(void **state)
{
    Buf file;
    make(&file);
    for (size_t len = 0; len < file.len; len++) {
        Taken taken = nothing();
        Error err = { 0 };
        assert_false(read_in(str_slice(buf_str(&file), 0, len), 11, &taken, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        clear(&taken);
    }
    buf_clear(&file);
}

static void every_flipped_bit_is_detected(void **state)
{
    Buf file;
    make(&file);
    for (size_t i = 0; i < file.len * 8; i++) {
        Taken taken = nothing();
        Error err = { 0 };
        file.data[i / 8] = (char)(file.data[i / 8] ^ 1 << i % 8);
        if (read_in(buf_str(&file), 64, &taken, &err)) {
            fail_msg("bit %zu of byte %zu", i % 8, i / 8);
        }
        file.data[i / 8] = (char)(file.data[i / 8] ^ 1 << i % 8);
        clear(&taken);
    }
    buf_clear(&file);
}

static void trailing_data_is_rejected(void **state)
{
    Buf file;
    Taken taken = nothing();
    Error err = { 0 };
    make(&file);
    buf_put_char(&file, '\0');
    assert_false(read_in(buf_str(&file), 100000, &taken, &err));
    assert_non_null(strstr(err.text, "data after the end"));
    clear(&taken);
    buf_clear(&file);
}

static void the_receiver_can_abort(void **state)
{
    Buf file;
    Taken taken = nothing();
    Error err = { 0 };
    make(&file);
    taken.refuses = true;
    assert_false(read_in(buf_str(&file), 100000, &taken, &err));
    assert_int_equal(err.kind, ERROR_OS);
    clear(&taken);
    buf_clear(&file);
}

static void errors_have_a_location(void **state)
{
    Buf file;
    Taken taken = nothing();
    Error err = { 0 };
    make(&file);
    file.data[file.len - 1] ^= 1;
    assert_false(read_in(buf_str(&file), 100000, &taken, &err));
    assert_non_null(strstr(err.text, format == 1 ? "the part 'store.db', bytes "
                                                 : "the part 'store.dump', starting at byte "));
    clear(&taken);
    buf_clear(&file);
}

/* The manifest's data about the store is what the store itself contains. */
static void another_store_is_rejected(void **state)
{
    static const char *const wrong[][2] = { { "\"revision\":42", "\"revision\":43" },
                                            { "\"store\":\"abc\"", "\"store\":\"abd\"" } };
    for (size_t i = 0; format == 2 && i < COUNT_OF(wrong); i++) {
        Buf file, made = buf_make(BUF_UNLIMITED);
        Taken taken = nothing();
        Error err = { 0 };
        char digest[SHA256_HEX + 1];
        make(&file);
        Str all = buf_str(&file);
        size_t end = str_find(all, STR("\n"), BACKUP_LINE) + 1;
        size_t place = str_find(all, str_from_c(wrong[i][0]), 0);
        memcpy(file.data + place, wrong[i][1], strlen(wrong[i][1]));
        Str manifest = str_slice(all, BACKUP_LINE, end);
        sha256_hex(manifest, digest);
        buf_put_format(&made, BACKUP_FORMAT " %08zu %s\n", manifest.len, digest);
        buf_put(&made, str_from_offset(all, BACKUP_LINE));
        assert_false(read_in(buf_str(&made), 1000, &taken, &err));
        assert_non_null(strstr(err.text, "the manifest"));
        clear(&taken);
        buf_clear(&file);
        buf_clear(&made);
    }
}

/* Parts of one format are invalid in the other. */
static void formats_are_not_mixed(void **state)
{
    Buf file;
    Taken taken = nothing();
    Error err = { 0 };
    make(&file);
    file.data[sizeof "eden.backup/" - 1] = format == 1 ? '2' : '1';
    assert_false(read_in(buf_str(&file), 1000, &taken, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    clear(&taken);
    buf_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backup_survives_a_round_trip),
        cmocka_unit_test(every_truncation_is_detected),
        cmocka_unit_test(every_flipped_bit_is_detected),
        cmocka_unit_test(trailing_data_is_rejected),
        cmocka_unit_test(the_receiver_can_abort),
        cmocka_unit_test(errors_have_a_location),
        cmocka_unit_test(another_store_is_rejected),
        cmocka_unit_test(formats_are_not_mixed),
    };
    int failed = 0;
    for (format = 1; format <= 2; format++) {
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
