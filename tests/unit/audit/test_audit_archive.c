#include "audit/audit_archive.h"

#include "audit_lines.h"

enum {
    LINES = 9
};

static int set_up(void **state)
{
    *state = audit_lines_new(LINES);
    return 0;
}

static int tear_down(void **state)
{
    audit_lines_free(*state);
    return 0;
}

static AuditArchive archive_of(const AuditLines *lines, uint64_t first, uint64_t last)
{
    AuditArchive archive = { .cluster = "blue", .first = first, .last = last };
    memcpy(archive.previous, lines->hashes[first - 1], sizeof archive.previous);
    memcpy(archive.hash, lines->hashes[last], sizeof archive.hash);
    return archive;
}

static Str text_of(AuditLines *lines, const AuditArchive *archive)
{
    Buf out = buf_make_in(&lines->arena, BUF_UNLIMITED);
    audit_archive_print(archive, &out);
    for (uint64_t i = archive->first; i <= archive->last; i++) {
        buf_put(&out, lines->lines[i]);
        buf_put_char(&out, '\n');
    }
    return buf_str(&out);
}

/* Verifies it as a whole, or the error; in chunks of so many bytes. */
static void expect(Str text, size_t chunk, const AuditMark *mark, const char *wrong)
{
    AUTO_CLEAR(AuditArchiveReader) reader;
    Error err = { 0 };
    bool ok = true;
    audit_archive_reader_init(&reader);
    if (mark != NULL) {
        audit_archive_reader_mark(&reader, mark->sequence, mark->hash);
    }
    for (size_t at = 0; ok && at < text.len; at += chunk) {
        size_t end = at + chunk < text.len ? at + chunk : text.len;
        ok = audit_archive_reader_feed(&reader, str_slice(text, at, end), &err);
    }
    ok = ok && audit_archive_reader_finish(&reader, &err);
    if (ok != (wrong == NULL) || (!ok && strstr(err.text, wrong) == NULL)) {
        fail_msg("'%s' in place of '%s'", err.text, wrong == NULL ? "" : wrong);
    }
}

static Str change(AuditLines *lines, Str text, const char *old, const char *new)
{
    size_t at = str_find(text, str_from_c(old), 0);
    assert_true(at != STR_NOT_FOUND);
    return arena_join(&lines->arena, str_slice(text, 0, at), str_from_c(new),
                      str_from_offset(text, at + strlen(old)));
}

static void written_archives_are_complete_at_any_split(void **state)
{
    AuditLines *lines = *state;
    for (uint64_t first = 1; first <= LINES; first++) {
        AuditArchive archive = archive_of(lines, first, LINES);
        Str text = text_of(lines, &archive);
        assert_int_equal(str_find(text, STR("\n"), 0), AUDIT_ARCHIVE_LINE - 1);
        expect(text, 1, NULL, NULL);
        expect(text, 700, NULL, NULL);
        expect(text, text.len, NULL, NULL);
    }
}

static void tampered_lines_are_named(void **state)
{
    AuditLines *lines = *state;
    AuditArchive archive = archive_of(lines, 2, 8);
    Str text = text_of(lines, &archive);
    expect(change(lines, text, "\"sequence\":5,\"time_ms\":1800000005000",
                  "\"sequence\":5,\"time_ms\":1800000005001"),
           100, NULL, "line 5: the entry was changed");
    Str fourth = arena_join(&lines->arena, lines->lines[4], STR("\n"), STR_EMPTY);
    expect(change(lines, text, arena_copy_c(&lines->arena, fourth), ""), 100, NULL,
           "line 4: the entry has number 5");
    expect(change(lines, text, "\"who\":\"ann\"", "\"who\": \"ann\""), 100, NULL,
           "line 2: the entry is not in the log's format");
    expect(str_slice(text, 0, text.len - 1), 100, NULL, "line 8: truncated");
    expect(str_slice(text, 0, text.len - lines->lines[8].len - 1), 100, NULL,
           "line 8: the log ends here");
    Str more = arena_join(&lines->arena, text, lines->lines[9], STR("\n"));
    expect(more, 100, NULL, "line 9: the entry is after the end");
    expect(change(lines, text, "\"first\":2", "\"first\":3"), 100, NULL, "line 2: ");
    expect(change(lines, text, "\"previous\":\"", "\"previous\":\"0"), 100, NULL, "line 1: ");
    expect(change(lines, text, "archive/1", "archive/2"), 100, NULL, "eden.audit-archive/2");
    expect(change(lines, text, "\"blue\"", "\"../b\""), 100, NULL, "line 1: ");
    expect(STR("hello\n"), 100, NULL, "line 1: not an audit log archive");
    expect(STR_EMPTY, 100, NULL, "line 1: the file is empty");
    archive.last = 7; /* and the hash is still that of the eighth */
    expect(text_of(lines, &archive), 100, NULL,
           "line 7: the log should end with a different entry");
}

static void overlong_lines_are_rejected(void **state)
{
    AuditLines *lines = *state;
    AuditArchive archive = archive_of(lines, 1, 2);
    Buf text = buf_make_in(&lines->arena, BUF_UNLIMITED);
    audit_archive_print(&archive, &text);
    for (int i = 0; i <= AUDIT_ENTRY_MAX; i++) {
        buf_put_char(&text, 'x');
    }
    expect(buf_str(&text), 1000, NULL, "line 2: longer than any entry");
}

static void markers_are_checked_at_their_position(void **state)
{
    AuditLines *lines = *state;
    AuditArchive archive = archive_of(lines, 3, 7);
    Str text = text_of(lines, &archive);
    for (uint64_t at = 0; at <= LINES; at++) {
        char wrong[60];
        AuditMark mark = { .sequence = at };
        memcpy(mark.hash, lines->hashes[at], sizeof mark.hash);
        expect(text, 1000, &mark, NULL);
        memcpy(mark.hash, lines->hashes[at == 0 ? 1 : at - 1], sizeof mark.hash);
        snprintf(wrong, sizeof wrong, "line %llu: entry %llu has a different hash",
                 (unsigned long long)at - 1, (unsigned long long)at);
        expect(text, 1000, &mark, at >= 2 && at <= 7 ? wrong : NULL);
    }
}

static void consecutive_archives_verify_as_one_chain(void **state)
{
    AuditArchive first = archive_of(*state, 1, 4), second = archive_of(*state, 5, 6);
    AuditArchive over = archive_of(*state, 3, 6), gap = archive_of(*state, 7, 9);
    AuditArchive inner = archive_of(*state, 2, 4);
    Error err;
    assert_true(audit_archive_follows(&first, &second, &err));
    assert_true(audit_archive_follows(&first, &over, &err));
    assert_false(audit_archive_follows(&first, &gap, &err));
    assert_string_equal(err.text, "entries 5 to 6 are missing from the archives before it");
    assert_false(audit_archive_follows(&first, &inner, &err));
    snprintf(second.cluster, sizeof second.cluster, "green");
    assert_false(audit_archive_follows(&first, &second, &err));
    assert_non_null(strstr(err.text, "'green'"));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(written_archives_are_complete_at_any_split),
        ROW(tampered_lines_are_named),
        ROW(overlong_lines_are_rejected),
        ROW(markers_are_checked_at_their_position),
        ROW(consecutive_archives_verify_as_one_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
