#include "audit/audit_entry.h"

#include <stdlib.h>

#include "unit.h"

enum {
    LINES = 6
};

typedef struct World {
    Arena arena;
    AuditHead head;
    Str lines[LINES + 1]; /* from 1 on */
} World;

static AuditEntry entry_of(uint64_t sequence, const char *previous)
{
    return (AuditEntry){
        .sequence = sequence,
        .time_ms = 1800000000000 + (int64_t)sequence,
        .who = STR("ci (token 4l2ygazs)"),
        .principal_kind = PRINCIPAL_TOKEN,
        .address = STR("10.0.0.1:4242"),
        .verb = STR("delete"),
        .kind = STR("Node"),
        .name = STR("web1"),
        .reason = STR("it burns"),
        .request = STR("r1"),
        .outcome = sequence % 2 == 0 ? AUDIT_DONE : AUDIT_REQUESTED,
        .previous = str_from_c(previous),
    };
}

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    arena_init(&world->arena, ARENA_UNLIMITED);
    audit_head_init(&world->head);
    for (uint64_t i = 1; i <= LINES; i++) {
        AuditEntry entry = entry_of(i, world->head.hash);
        Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
        char hash[AUDIT_HASH_TEXT + 1];
        audit_entry_print(&entry, &text, hash);
        memcpy(world->head.hash, hash, sizeof hash);
        world->lines[i] = buf_str(&text);
        world->head.sequence = i;
    }
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    arena_clear(&world->arena);
    free(world);
    return 0;
}

/* All lines except `without`. */
static AuditChain verify(World *world, uint64_t without)
{
    AuditChain chain;
    audit_chain_start(&chain, &world->head);
    for (uint64_t i = 1; i <= LINES; i++) {
        if (i != without) {
            audit_chain_add(&chain, i, world->lines[i]);
        }
    }
    audit_chain_end(&chain);
    return chain;
}

static void expect_break(const AuditChain *chain, uint64_t at, const char *what)
{
    assert_true(chain->is_broken);
    assert_int_equal(chain->broken_at, at);
    if (strstr(chain->what, what) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", what, chain->what);
    }
}

static Str replace(World *world, Str text, const char *old, const char *new)
{
    size_t at = str_find(text, str_from_c(old), 0);
    assert_true(at != STR_NOT_FOUND);
    return arena_join(&world->arena, str_slice(text, 0, at), str_from_c(new),
                      str_from_offset(text, at + strlen(old)));
}

static void an_entry_survives_a_round_trip(void **state)
{
    World *world = *state;
    AuditEntry read;
    Error err;
    assert_true(audit_entry_read(&world->arena, world->lines[2], &read, &err));
    assert_int_equal(read.sequence, 2);
    assert_int_equal(read.time_ms, 1800000000002);
    assert_str(read.who, "ci (token 4l2ygazs)");
    assert_int_equal(read.principal_kind, PRINCIPAL_TOKEN);
    assert_str(read.verb, "delete");
    assert_str(read.reason, "it burns");
    assert_int_equal(read.outcome, AUDIT_DONE);
    /* Canonical: sorted keys, no spaces; any other program computes the same hash. */
    assert_true(
        str_starts(world->lines[1], STR("{\"address\":\"10.0.0.1:4242\",\"by\":\"token\"")));
}

static void an_intact_chain_verifies(void **state)
{
    World *world = *state;
    AuditChain chain = verify(world, 0);
    assert_false(chain.is_broken);
    assert_int_equal(chain.count, LINES);
    assert_int_equal(chain.sequence, LINES);
    AuditHead empty;
    audit_head_init(&empty);
    audit_chain_start(&chain, &empty);
    assert_true(audit_chain_end(&chain));
}

static void a_changed_entry_is_found(void **state)
{
    World *world = *state;
    static const struct {
        const char *old, *new, *what;
    } rows[] = {
        { "web1", "web2", "its hash does not match" },
        { "it burns", "it burnt", "its hash does not match" },
        { "\"asked\"", "\"failed\"", "its hash does not match" },
        { "\"sequence\":3", "\"sequence\":4", "has number 4" },
        { "{", "{ ", "is not in the log's format" },
        { "\"verb\"", "\"x\":1,\"verb\"", "is not in the log's format" },
        { "\"who\":\"ci", "\"who\":\"ci\",\"who\":\"di", "cannot be read" },
        { "}", "", "cannot be read" },
        { "eden.audit/1", "eden.audit/2", "cannot be read" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str kept = world->lines[3];
        world->lines[3] = replace(world, kept, rows[i].old, rows[i].new);
        AuditChain chain = verify(world, 0);
        expect_break(&chain, 3, rows[i].what);
        assert_int_equal(chain.count, 2);
        world->lines[3] = kept;
    }
}

static void a_rewritten_entry_breaks_the_chain(void **state)
{
    World *world = *state;
    AuditEntry entry = entry_of(3, world->head.hash);
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    char hash[AUDIT_HASH_TEXT + 1];
    audit_entry_print(&entry, &text, hash);
    world->lines[3] = buf_str(&text);
    AuditChain chain = verify(world, 0);
    expect_break(&chain, 3, "does not follow");
    /* With the right one before it, the next one reveals it. */
    AuditEntry read;
    Error err;
    assert_true(audit_entry_read(&world->arena, world->lines[2], &read, &err));
    entry.previous = read.hash;
    entry.name = STR("web2");
    text = buf_make_in(&world->arena, BUF_UNLIMITED);
    audit_entry_print(&entry, &text, hash);
    world->lines[3] = buf_str(&text);
    chain = verify(world, 0);
    expect_break(&chain, 4, "does not follow");
}

static void gaps_and_truncation_are_found(void **state)
{
    World *world = *state;
    AuditChain chain = verify(world, 3);
    expect_break(&chain, 3, "missing: 3 to 3");
    chain = verify(world, 1);
    expect_break(&chain, 1, "missing: 1 to 1");
    chain = verify(world, LINES);
    expect_break(&chain, LINES, "the log ends here, but should continue to 6");
    /* More than the head has. */
    world->head.sequence = 4;
    chain = verify(world, 0);
    expect_break(&chain, 5, "after the end of the log, 4");
    /* The head of another log. */
    world->head.sequence = LINES;
    world->head.hash[0] = world->head.hash[0] == '0' ? '1' : '0';
    chain = verify(world, 0);
    expect_break(&chain, LINES, "end with a different entry");
}

static void a_chain_can_start_later(void **state)
{
    World *world = *state;
    AuditEntry second;
    AuditChain chain;
    Error err;
    assert_true(audit_entry_read(&world->arena, world->lines[2], &second, &err));
    world->head.floor_sequence = 2;
    memcpy(world->head.floor_hash, second.hash.data, AUDIT_HASH_TEXT);
    audit_chain_start(&chain, &world->head);
    for (uint64_t i = 3; i <= LINES; i++) {
        assert_true(audit_chain_add(&chain, i, world->lines[i]));
    }
    assert_true(audit_chain_end(&chain));
    chain = verify(world, 0);
    expect_break(&chain, 1, "before the start");
}

static void fields_are_bounded_and_clean(void **state)
{
    World *world = *state;
    char long_text[5000];
    char hash[AUDIT_HASH_TEXT + 1];
    AuditEntry read, entry = entry_of(1, AUDIT_GENESIS);
    Error err;
    memset(long_text, 'x', sizeof long_text);
    entry.who = entry.address = entry.verb = entry.kind = entry.name = entry.reason =
        entry.request = entry.detail = str_from(long_text, sizeof long_text);
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    audit_entry_print(&entry, &text, hash);
    assert_true(text.len < AUDIT_ENTRY_MAX);
    assert_true(audit_entry_read(&world->arena, buf_str(&text), &read, &err));
    assert_int_equal(read.reason.len, AUDIT_REASON_MAX);
    assert_int_equal(read.verb.len, AUDIT_WORD_MAX);
    /* Three bytes for each, and one that is not UTF-8. */
    memset(long_text, '\x1b', sizeof long_text);
    memcpy(long_text, "\xe2\x82\xac\xff\"\\", 6);
    entry.reason = str_from(long_text, sizeof long_text);
    text = buf_make_in(&world->arena, BUF_UNLIMITED);
    audit_entry_print(&entry, &text, hash);
    assert_true(text.len < AUDIT_ENTRY_MAX);
    assert_true(audit_entry_read(&world->arena, buf_str(&text), &read, &err));
    assert_true(str_starts(read.reason, STR("\xe2\x82\xac\xef\xbf\xbd\"\\\x1b")));
    AuditChain chain;
    AuditHead head = { .sequence = 1, .floor_hash = AUDIT_GENESIS };
    memcpy(head.hash, hash, sizeof hash);
    audit_chain_start(&chain, &head);
    assert_true(audit_chain_add(&chain, 1, buf_str(&text)) && audit_chain_end(&chain));
}

/* Made by another program: with sorted keys, no spaces, and SHA-256. The second has a field that a
 * later version may add, the third an outcome and a kind of caller. */
static void hashes_match_other_implementations(void **state)
{
    static const char *const lines[] = {
        ("{\"address\":\"10.0.0.1:4242\",\"by\":\"token\",\"detail\":\"\",\"format\":\"eden.audit/"
         "1\",\"has"
         "h\":\"bbc6d9dd7d749a41741a21ca77a064e86cf153ced859d6430974167536ee4cb8\",\"kind\":\"No"
         "de\",\"name\":\"web1\",\"outcome\":\"asked\",\"previous\":"
         "\"00000000000000000000000000000000"
         "00000000000000000000000000000000\",\"reason\":\"it "
         "burns\",\"request\":\"r1\",\"sequence\":"
         "1,\"time_ms\":1800000000001,\"verb\":\"delete\",\"who\":\"ci (token abcdefgh)\"}"),
        ("{\"address\":\"10.0.0.1:4242\",\"by\":\"token\",\"detail\":\"\",\"format\":\"eden.audit/"
         "1\",\"has"
         "h\":\"d9d3d6c67e7fbf4fa182a884167d1698ebc0130636c14ba7f31bf8568582dd0f\",\"kind\":\"No"
         "de\",\"later\":{\"x\":[1,2.5,null,true]},\"name\":\"web1\",\"outcome\":\"asked\","
         "\"previous\":\""
         "0000000000000000000000000000000000000000000000000000000000000000\",\"reason\":\"it b"
         "urns\",\"request\":\"r1\",\"sequence\":1,\"time_ms\":1800000000001,\"verb\":\"delete\","
         "\"who\":"
         "\"ci (token abcdefgh)\"}"),
        ("{\"address\":\"10.0.0.1:4242\",\"by\":\"robot\",\"detail\":\"\",\"format\":\"ede"
         "n.audit/1\",\"hash\":\"d5c1336e0285a71aad6c82039c949ab4f84aa6209cd0551bbf6188abe"
         "3ebe50f\",\"kind\":\"Node\",\"name\":\"web1\",\"outcome\":\"postponed\",\"previo"
         "us\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"reas"
         "on\":\"it burns\",\"request\":\"r1\",\"sequence\":1,\"time_ms\":1800000000001,\""
         "verb\":\"delete\",\"who\":\"ci (token abcdefgh)\"}"),
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        AuditChain chain;
        audit_chain_start(&chain, &(AuditHead){ .sequence = 1, .floor_hash = AUDIT_GENESIS });
        if (!audit_chain_add(&chain, 1, str_from_c(lines[i]))) {
            fail_msg("%s", chain.what);
        }
    }
}

static void heads_are_read_strictly(void **state)
{
    World *world = *state;
    AuditHead read;
    Error err;
    Buf text = buf_make_in(&world->arena, BUF_UNLIMITED);
    audit_head_print(&world->head, &text);
    assert_true(audit_head_read(&world->arena, buf_str(&text), &read, &err));
    assert_int_equal(read.sequence, LINES);
    assert_string_equal(read.hash, world->head.hash);
    assert_int_equal(read.floor_sequence, 0);
    assert_string_equal(read.floor_hash, AUDIT_GENESIS);
    AuditHead archived = world->head;
    archived.floor_sequence = 3;
    archived.floor_time_ms = 1800000000000;
    snprintf(archived.floor_who, sizeof archived.floor_who, "ann \"%s\"", "\xc3\xa4");
    Buf second = buf_make_in(&world->arena, BUF_UNLIMITED);
    audit_head_print(&archived, &second);
    assert_true(audit_head_read(&world->arena, buf_str(&second), &read, &err));
    assert_int_equal(read.floor_sequence, 3);
    assert_int_equal(read.floor_time_ms, 1800000000000);
    assert_string_equal(read.floor_who, archived.floor_who);
    static const char *const bad[] = { "", "{}", "[]", "{\"format\":\"eden.audit-head/2\"}" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(audit_head_read(&world->arena, str_from_c(bad[i]), &read, &err));
    }
    assert_false(audit_head_read(
        &world->arena, replace(world, buf_str(&text), "\"sequence\":6", "\"sequence\":-1"), &read,
        &err));
    char other[AUDIT_HASH_TEXT + 1];
    memset(other, 'x', AUDIT_HASH_TEXT);
    other[AUDIT_HASH_TEXT] = '\0';
    const char *const hashes[] = { "", "ab", other };
    for (size_t i = 0; i < COUNT_OF(hashes); i++) {
        assert_false(audit_head_read(&world->arena,
                                     replace(world, buf_str(&text), world->head.hash, hashes[i]),
                                     &read, &err));
    }
}

static void a_log_is_full_by_number_or_by_its_share_of_the_disk(void **state)
{
    static const struct {
        uint64_t sequence, floor, bytes;
        int64_t disk;
        bool is_full;
    } rows[] = {
        { 0, 0, 0, 0, false },
        { AUDIT_ENTRIES_MAX - 1, 0, 1000, 0, false },
        { AUDIT_ENTRIES_MAX, 0, 1000, 0, true },
        { AUDIT_ENTRIES_MAX, 1, 1000, 0, false },
        { 100, 0, 249, 1000, false },
        { 100, 0, 250, 1000, true },
        { 100, 0, 250, 0, false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AuditHead head = { .sequence = rows[i].sequence,
                           .floor_sequence = rows[i].floor,
                           .bytes = rows[i].bytes };
        assert_int_equal(audit_head_is_full(&head, rows[i].disk), rows[i].is_full);
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(an_entry_survives_a_round_trip),
        ROW(an_intact_chain_verifies),
        ROW(a_changed_entry_is_found),
        ROW(a_rewritten_entry_breaks_the_chain),
        ROW(gaps_and_truncation_are_found),
        ROW(a_chain_can_start_later),
        ROW(fields_are_bounded_and_clean),
        ROW(hashes_match_other_implementations),
        ROW(heads_are_read_strictly),
        ROW(a_log_is_full_by_number_or_by_its_share_of_the_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
