#include "access/credential_records.h"

#include <stddef.h>

#include "lossy_store.h"
#include "store_world.h"

/* A record in these tests is "ID EXPIRES_MS", at the key of a token. */
typedef struct Pass {
    char id[20];
    int64_t expires_ms;
} Pass;

static Str pass_key(Arena *arena, Str prefix, Str id)
{
    return cluster_key_token(arena, prefix, id);
}

static Str pass_all(Arena *arena, Str prefix)
{
    return cluster_key_token_all(arena, prefix);
}

static bool pass_check(Str id, Error *err)
{
    return (id.len >= 2 && id.len <= 5) ||
           error_set(err, ERROR_INVALID, "the id of a pass has two letters or more");
}

static bool pass_read(Arena *arena, Str text, void *out, Error *err)
{
    Pass *pass = out;
    Str id;
    if (!str_split_next(&text, ' ', &id) || id.len >= sizeof pass->id ||
        !str_to_i64(text, &pass->expires_ms)) {
        return error_set(err, ERROR_INVALID, "this is no pass");
    }
    memcpy(pass->id, id.data, id.len);
    return true;
}

enum {
    PASSES_MAX = 5
};

static const CredentialRecords passes = {
    .singular = "pass",
    .plural = "passes",
    .max = PASSES_MAX,
    .size = sizeof(Pass),
    .id = offsetof(Pass, id),
    .expires_ms = offsetof(Pass, expires_ms),
    .key = pass_key,
    .key_prefix = pass_all,
    .check = pass_check,
    .read = pass_read,
};

#define NOW_MS ((int64_t)1800000000000)

typedef struct Fixture {
    StoreWorld world;
    char listed[100]; /* ids, with '!' after an unreadable one */
    char next[20];
    int64_t revision;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    world_follow(&f->world);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    world_close(&f->world);
    free(f);
    return 0;
}

static void added(void *context, int64_t revision, const Error *err)
{
    Fixture *f = context;
    assert_int_equal(revision,
                     err == NULL ? store_status(f->world.cluster_store.store).revision : 0);
    world_done(&f->world, err);
}

static void add_until(Fixture *f, const char *id, int64_t expires_ms)
{
    Str text = arena_format(&f->world.arena, "%s %lld", id, (long long)expires_ms);
    credential_records_add(&f->world.cluster_store, &passes,
                           &(NewCredential){ .id = str_from_c(id), .text = text }, added, f);
}

static void add(Fixture *f, const char *id)
{
    add_until(f, id, NOW_MS + 1000);
    world_expect(&f->world, ERROR_NONE, NULL);
}

static void note(Fixture *f, const CredentialEntry *entry)
{
    size_t used = strlen(f->listed);
    snprintf(f->listed + used, sizeof f->listed - used, "%s%.*s%s", used > 0 ? " " : "",
             STR_ARG(entry->id), entry->record == NULL ? "!" : "");
    assert_true(entry->revision > 0);
    assert_int_equal(entry->record == NULL, str_starts(entry->error, STR("/eden/internal/token/")));
    f->revision = entry->revision;
}

static void expect_list(Fixture *f, const char *after, uint32_t limit, const char *ids)
{
    Arena *arena = &f->world.arena;
    Str place = arena_copy(arena, str_from_c(after));
    CredentialPage page;
    Error err;
    f->listed[0] = '\0';
    assert_true(credential_records_list(arena, &f->world.cluster_store, &passes, place, limit,
                                        &page, &err));
    for (uint32_t i = 0; i < page.count; i++) {
        note(f, &page.entries[i]);
        assert_true(page.entries[i].revision <= page.revision);
    }
    snprintf(f->next, sizeof f->next, "%.*s", STR_ARG(page.next));
    assert_string_equal(f->listed, ids);
}

static void expect_no_list(Fixture *f, uint32_t limit, const char *why)
{
    CredentialPage page;
    Error err;
    assert_false(credential_records_list(&f->world.arena, &f->world.cluster_store, &passes,
                                         STR_EMPTY, limit, &page, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, why));
}

static void expect_one(Fixture *f, const char *id)
{
    CredentialEntry entry;
    Error err;
    f->listed[0] = '\0';
    assert_true(credential_records_get(&f->world.arena, &f->world.cluster_store, &passes,
                                       str_from_c(id), &entry, &err));
    note(f, &entry);
}

static void expect_none(Fixture *f, const char *id, ErrorKind kind, const char *why)
{
    CredentialEntry entry;
    Error err;
    assert_false(credential_records_get(&f->world.arena, &f->world.cluster_store, &passes,
                                        str_from_c(id), &entry, &err));
    assert_int_equal(err.kind, kind);
    assert_non_null(strstr(err.text, why));
}

static void revoke_and_check(Fixture *f, const char *id, int64_t revision)
{
    credential_records_revoke(&f->world.cluster_store, &passes, str_from_c(id), revision,
                              world_done, &f->world);
}

static void put(Fixture *f, const char *id, const char *text)
{
    world_put(&f->world, pass_key(&f->world.arena, PREFIX, str_from_c(id)), str_from_c(text));
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void all_are_listed_page_by_page(void **state)
{
    Fixture *f = *state;
    expect_list(f, "", 3, "");
    add(f, "cc");
    add(f, "aa");
    add(f, "dd");
    add(f, "bb");
    expect_list(f, "", 3, "aa bb cc");
    expect_list(f, f->next, 3, "dd");
    assert_string_equal(f->next, "");
    expect_list(f, "", 4, "aa bb cc dd");
    assert_string_equal(f->next, "");
    expect_no_list(f, 0, "between 1 and 1000");
    expect_no_list(f, CREDENTIAL_PAGE_MAX + 1, "between 1 and 1000");
}

static void one_is_read_alone(void **state)
{
    Fixture *f = *state;
    add(f, "aa");
    add(f, "bb");
    expect_one(f, "bb");
    assert_string_equal(f->listed, "bb");
    expect_none(f, "cc", ERROR_NOT_FOUND, "pass 'cc' not found");
    expect_none(f, "../../x", ERROR_INVALID, "two letters");
}

static void an_id_is_assigned_once(void **state)
{
    Fixture *f = *state;
    add(f, "aa");
    add_until(f, "aa", NOW_MS + 1);
    world_expect(&f->world, ERROR_CONFLICT, "same ID");
}

static void a_revoked_record_is_deleted(void **state)
{
    Fixture *f = *state;
    add(f, "aa");
    revoke_and_check(f, "aa", 0);
    world_expect(&f->world, ERROR_NONE, NULL);
    expect_list(f, "", 9, "");
    revoke_and_check(f, "aa", 0);
    world_expect(&f->world, ERROR_NOT_FOUND, "pass 'aa' not found");
    revoke_and_check(f, "../../x", 0);
    world_expect(&f->world, ERROR_INVALID, NULL);
}

static void a_revocation_based_on_an_old_state_fails(void **state)
{
    Fixture *f = *state;
    add(f, "aa");
    expect_one(f, "aa");
    int64_t seen = f->revision;
    put(f, "aa", "aa 5");
    revoke_and_check(f, "aa", seen);
    world_expect(&f->world, ERROR_CONFLICT, "read it again");
    expect_one(f, "aa");
    revoke_and_check(f, "aa", f->revision);
    world_expect(&f->world, ERROR_NONE, NULL);
    expect_list(f, "", 9, "");
}

/* They hide none of the others, and can be revoked. */
static void damaged_records_are_reported(void **state)
{
    Fixture *f = *state;
    add(f, "aa");
    put(f, "bb", "?");
    put(f, "cc", "dd 5"); /* under another name */
    world_put(&f->world, STR("/eden/internal/token/x/y"), STR("aa 5"));
    put(f, "longer", "longer 5"); /* not a possible id */
    expect_list(f, "", 9, "aa bb! cc!");
    expect_one(f, "bb");
    assert_string_equal(f->listed, "bb!");
    revoke_and_check(f, "bb", 0);
    world_expect(&f->world, ERROR_NONE, NULL);
    revoke_and_check(f, "cc", 0);
    world_expect(&f->world, ERROR_NONE, NULL);
    expect_list(f, "", 9, "aa");
}

/* A page ends at a foreign key, and the next one starts after it. */
static void foreign_keys_do_not_confuse_paging(void **state)
{
    Fixture *f = *state;
    add(f, "aa");
    world_put(&f->world, STR("/eden/internal/token/bb/y"), STR("aa 5"));
    add(f, "cc");
    add(f, "dd");
    expect_list(f, "", 2, "aa cc");
    expect_list(f, f->next, 2, "dd");
    assert_string_equal(f->next, "");
}

static void the_number_of_records_is_limited(void **state)
{
    Fixture *f = *state;
    const char *const ids[] = { "aa", "bb", "cc", "dd", "ee" };
    assert_int_equal(COUNT_OF(ids), PASSES_MAX);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        add(f, ids[i]);
    }
    add_until(f, "ff", NOW_MS + 1000);
    world_expect(&f->world, ERROR_LIMIT, "there are already 5 passes; revoke some");
    expect_list(f, "", 9, "aa bb cc dd ee");
    revoke_and_check(f, "cc", 0);
    world_expect(&f->world, ERROR_NONE, NULL);
    add(f, "ff");
}

static void expired_records_make_space(void **state)
{
    Fixture *f = *state;
    add(f, "aa");
    add_until(f, "bb", NOW_MS - 1);
    world_expect(&f->world, ERROR_NONE, NULL);
    add_until(f, "cc", NOW_MS - 2);
    world_expect(&f->world, ERROR_NONE, NULL);
    put(f, "dd", "?"); /* its expiry is unknown, so it stays */
    add(f, "ee");
    /* Only if there is no space. */
    expect_list(f, "", 9, "aa bb cc dd! ee");
    add(f, "ff");
    expect_list(f, "", 9, "aa dd! ee ff");
}

/* Whether the others are deleted is unknown; that the new one is added is not. */
static void an_unknown_outcome_of_the_cleanup_does_not_affect_the_new_record(void **state)
{
    static const Fate fates[][1] = { { FATE_ANSWER_LOST }, { FATE_REQUEST_LOST } };
    Fixture *f = *state;
    LossyStore lossy;
    for (int i = 0; i < PASSES_MAX; i++) {
        char id[3] = { 'a', (char)('a' + i), '\0' };
        add_until(f, id, NOW_MS - 1);
        world_expect(&f->world, ERROR_NONE, NULL);
    }
    Store *real = f->world.cluster_store.store;
    f->world.cluster_store.store = lossy_open_once(&lossy, f->world.cluster_store.loop, real);
    lossy_set_fates(&lossy, fates[1], 1);
    add_until(f, "ff", NOW_MS + 1000);
    world_expect(&f->world, ERROR_LIMIT, "there are already 5 passes");
    lossy_set_fates(&lossy, fates[0], 1);
    add(f, "gg");
    expect_list(f, "", 9, "gg");
    f->world.cluster_store.store = real;
    arena_clear(&lossy.arena);
}

/* However many precede it. */
static void a_single_expired_record_is_found(void **state)
{
    Fixture *f = *state;
    CredentialRecords plural = passes;
    Arena *arena = &f->world.arena;
    StoreOp ops[100];
    Error err;
    plural.max = CREDENTIAL_PAGE_MAX + 1;
    for (int i = 0; i < CREDENTIAL_PAGE_MAX; i += COUNT_OF(ops)) {
        for (size_t k = 0; k < COUNT_OF(ops); k++) {
            Str id = arena_format(arena, "a%04zu", i + k);
            ops[k] = (StoreOp){ .kind = STORE_PUT,
                                .key = pass_key(arena, PREFIX, id),
                                .value = arena_format(arena, "%" STR_FMT " %lld", STR_ARG(id),
                                                      (long long)NOW_MS + 1000) };
        }
        StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
        assert_true(store_txn(f->world.cluster_store.store, &txn, world_stored, &f->world, &err));
        world_expect(&f->world, ERROR_NONE, NULL);
    }
    put(f, "zz", "zz 5");
    for (int i = 0; i < 2; i++) {
        Str id = i == 0 ? STR("xx") : STR("yy");
        NewCredential credential = { .id = id,
                                     .text = arena_format(arena, "%s 1900000000000", id.data) };
        credential_records_add(&f->world.cluster_store, &plural, &credential, added, f);
        world_expect(&f->world, i == 0 ? ERROR_NONE : ERROR_LIMIT, NULL);
    }
    expect_list(f, "a0998", 9, "a0999 xx");
}

static void closing_the_store_completes_all_calls(void **state)
{
    Fixture *f = *state;
    StoreWorld *world = &f->world;
    follow_stop(&world->cluster_store);
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            add_until(f, "aa", NOW_MS);
        } else {
            revoke_and_check(f, "aa", 0);
        }
        store_close(world->cluster_store.store);
        world->cluster_store.store = NULL;
        world_expect(world, ERROR_UNAVAILABLE, NULL);
        world->cluster_store.store = store_open_memory(world->cluster_store.loop, NULL);
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(all_are_listed_page_by_page),
        ROW(one_is_read_alone),
        ROW(an_id_is_assigned_once),
        ROW(a_revoked_record_is_deleted),
        ROW(a_revocation_based_on_an_old_state_fails),
        ROW(damaged_records_are_reported),
        ROW(foreign_keys_do_not_confuse_paging),
        ROW(the_number_of_records_is_limited),
        ROW(expired_records_make_space),
        ROW(an_unknown_outcome_of_the_cleanup_does_not_affect_the_new_record),
        ROW(a_single_expired_record_is_found),
        ROW(closing_the_store_completes_all_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
