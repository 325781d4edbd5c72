#include "pki/revocation.h"

#include "authority.h"

#define HOUR   ((int64_t)3600 * 1000)
#define FIRST  "4011223344556677"
#define SECOND "7fffffffffffffff"

static const char serial[] = FIRST "8899aabbccddeeff";

#define CHECK(list, node, number) \
    revocation_check((list), str_from_c(node), str_from_c(number), &err)

static void revoked_serial_is_refused(void **state)
{
    Authority *authority = *state;
    RevocationList list = { 0 };
    assert_succeeds(CHECK(&list, "web1", serial));
    assert_succeeds(
        revocation_add_serial(&authority->arena, &list, str_from_c(serial), NOW_MS + HOUR, &err));
    assert_succeeds(
        revocation_add_serial(&authority->arena, &list, str_from_c(serial), NOW_MS, &err));
    assert_int_equal(list.serial_count, 1);
    assert_fails(CHECK(&list, "web1", serial), ERROR_DENIED,
                 "the certificate " FIRST "8899aabbccddeeff of 'web1' was revoked");
    assert_succeeds(CHECK(&list, "web1", FIRST "8899aabbccddeefe"));
    assert_succeeds(CHECK(&list, "web1", FIRST));
}

/* CLUSTER H 12: delete a node and reuse its name: no earlier certificate works. */
static void reused_name_inherits_nothing(void **state)
{
    Authority *authority = *state;
    RevocationList list = { 0 };
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate old = issue_node(authority, &grant), renewed = issue_node(authority, &grant);
    assert_succeeds(CHECK(&list, "web1", old.serial));
    /* Removed: no node has that name, whatever was issued for it and whoever kept its number. */
    assert_succeeds(
        revocation_set_name(&authority->arena, &list, STR("web1"), STR_EMPTY, NOW_MS + HOUR, &err));
    assert_fails(CHECK(&list, "web1", old.serial), ERROR_DENIED, "the node 'web1' was removed");
    assert_fails(CHECK(&list, "web1", renewed.serial), ERROR_DENIED, "was removed");
    assert_succeeds(CHECK(&list, "web10", old.serial));
    /* Enrolled again, even with the same key. */
    grant.enrollment = STR(SECOND);
    Certificate now = issue_node(authority, &grant);
    assert_succeeds(
        revocation_set_name(&authority->arena, &list, STR("web1"), STR(SECOND), NOW_MS, &err));
    assert_succeeds(CHECK(&list, "web1", now.serial));
    assert_fails(CHECK(&list, "web1", old.serial), ERROR_DENIED,
                 "from an earlier enrollment of 'web1'");
    assert_fails(CHECK(&list, "web1", renewed.serial), ERROR_DENIED, "from an earlier enrollment");
    assert_fails(CHECK(&list, "web1", SECOND), ERROR_DENIED, "from an earlier enrollment");
    assert_int_equal(list.names[0].until_ms, NOW_MS + HOUR);
}

#define DAY REVOCATION_READING_INTERVAL_MS

static RevocationList four_entries(Arena *arena)
{
    RevocationList list = { 0 };
    assert_succeeds(revocation_add_serial(arena, &list, STR("aa"), NOW_MS, &err));
    assert_succeeds(revocation_add_serial(arena, &list, STR("ab"), NOW_MS + HOUR, &err));
    assert_succeeds(revocation_set_name(arena, &list, STR("a"), STR_EMPTY, NOW_MS, &err));
    assert_succeeds(revocation_set_name(arena, &list, STR("b"), STR_EMPTY, NOW_MS + HOUR, &err));
    return list;
}

/* As in the store: printed, and parsed for the next change. */
static void prune_stored(Arena *arena, RevocationList *list, int64_t now_ms)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    revocation_prune(list, now_ms);
    revocation_print(list, &text);
    assert_succeeds(revocation_read(arena, buf_str(&text), list, &err));
}

static void entries_are_pruned_a_day_after_expiry(void **state)
{
    Authority *authority = *state;
    RevocationList list = four_entries(&authority->arena);
    prune_stored(&authority->arena, &list, NOW_MS);
    prune_stored(&authority->arena, &list, NOW_MS + DAY - 1);
    assert_int_equal(list.serial_count + list.name_count, 4);
    prune_stored(&authority->arena, &list, NOW_MS + DAY);
    assert_int_equal(list.serial_count, 1);
    assert_string_equal(list.serials[0].serial, "ab");
    assert_int_equal(list.name_count, 1);
    assert_string_equal(list.names[0].node, "b");
    prune_stored(&authority->arena, &list, NOW_MS + 2 * (int64_t)DAY);
    assert_int_equal(list.serial_count + list.name_count, 0);
}

/* Whatever the clock reads meanwhile, and however often the list is written in that time. */
static void a_clock_that_is_ahead_for_a_moment_drops_nothing(void **state)
{
    Authority *authority = *state;
    static const int64_t ahead_ms[] = { HOUR, 2 * HOUR, 40 * 24 * HOUR, 3650 * 24 * HOUR };
    for (size_t i = 0; i < COUNT_OF(ahead_ms); i++) {
        int64_t before_ms = NOW_MS - 2 * HOUR;
        RevocationList list = four_entries(&authority->arena);
        for (int round = 0; round < 3; round++) {
            prune_stored(&authority->arena, &list, before_ms);
            prune_stored(&authority->arena, &list, before_ms + ahead_ms[i]);
            prune_stored(&authority->arena, &list, before_ms + ahead_ms[i] + HOUR);
            prune_stored(&authority->arena, &list, before_ms + 1);
        }
        assert_int_equal(list.serial_count + list.name_count, 4);
        assert_fails(CHECK(&list, "web1", "ab"), ERROR_DENIED, "revoked");
        /* And a list without a clock reading yet, like the first one of a new version. */
        list = four_entries(&authority->arena);
        prune_stored(&authority->arena, &list, before_ms + ahead_ms[i]);
        prune_stored(&authority->arena, &list, before_ms);
        assert_int_equal(list.serial_count + list.name_count, 4);
    }
}

/* Added in any order: found, sorted, and the same after a round trip through the store. */
static void lists_survive_a_round_trip(void **state)
{
    Authority *authority = *state;
    Arena *arena = &authority->arena;
    RevocationList list = { 0 }, read;
    for (unsigned i = 0; i < 300; i++) {
        unsigned number = i * 7919 % 300;
        Str text = arena_format(arena, "%04x", number);
        assert_succeeds(revocation_add_serial(arena, &list, text, NOW_MS + i, &err));
        assert_succeeds(revocation_set_name(arena, &list, arena_format(arena, "n%u", number),
                                            i % 2 == 0 ? STR_EMPTY : STR(FIRST), NOW_MS + i, &err));
    }
    AUTO_CLEAR(Buf) printed = buf_make(1 << 20), again = buf_make(1 << 20);
    revocation_print(&list, &printed);
    assert_succeeds(revocation_read(arena, buf_str(&printed), &read, &err));
    assert_int_equal(read.serial_count, 300);
    assert_int_equal(read.name_count, 300);
    revocation_print(&read, &again);
    assert_true(str_eq(buf_str(&printed), buf_str(&again)));
    for (unsigned i = 0; i < 300; i++) {
        Str text = arena_format(arena, "%04x", i);
        assert_fails(revocation_check(&read, STR("other"), text, &err), ERROR_DENIED, "revoked");
        assert_fails(revocation_check(&read, arena_format(arena, "n%u", i), STR("ffff"), &err),
                     ERROR_DENIED, "");
    }
    assert_succeeds(revocation_check(&read, STR("other"), STR("012c"), &err));
}

#define LIST(serials, names) \
    "{\"format\":\"eden.revocations/1\",\"serials\":[" serials "],\"names\":[" names "]}"

/* A list that cannot be read must not be treated as one that allows everything. */
static void damaged_lists_are_rejected(void **state)
{
    Authority *authority = *state;
    static const char *const rows[][2] = {
        { LIST("{\"serial\":\"ab\",\"until_ms\":1},{\"serial\":\"aa\",\"until_ms\":1}", ""),
          "'serials/1': is out of order" },
        { LIST("{\"serial\":\"aa\",\"until_ms\":1},{\"serial\":\"aa\",\"until_ms\":1}", ""),
          "out of order" },
        { LIST("{\"serial\":\"AA\",\"until_ms\":1}", ""),
          "'serials/0/serial': must be a serial number" },
        { LIST("{\"serial\":\"\",\"until_ms\":1}", ""),
          "'serials/0/serial': must be a serial number" },
        { LIST("{\"serial\":\"aa\"}", ""), "'serials/0/until_ms': is required" },
        { LIST("1", ""), "'serials/0': must be an object" },
        { LIST("", "{\"node\":\"b\",\"enrolment\":\"\",\"until_ms\":1},"
                   "{\"node\":\"a\",\"enrolment\":\"\",\"until_ms\":1}"),
          "'names/1': is out of order" },
        { LIST("", "{\"node\":\"../b\",\"enrolment\":\"\",\"until_ms\":1}"),
          "'names/0/node': invalid node name: character 1" },
        { LIST("", "{\"node\":\"b\",\"enrolment\":\"1\",\"until_ms\":1}"),
          "'names/0/enrolment': an enrollment ID" },
        { "{\"format\":\"eden.revocations/1\",\"serials\":[]}", "'names': is required" },
        { "{\"format\":\"eden.revocations/1\",\"serials\":[],\"names\":[],\"clock_ms\":-1}",
          "'clock_ms': must be from 0" },
        { "{\"format\":\"eden.revocations/9\",\"serials\":[],\"names\":[]}",
          "expected 'eden.revocations/1'" },
        { "", "the revocation list: " },
    };
    RevocationList read;
    assert_succeeds(revocation_read(&authority->arena, STR(LIST("", "")), &read, &err));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_fails(revocation_read(&authority->arena, str_from_c(rows[i][0]), &read, &err),
                     ERROR_INVALID, rows[i][1]);
    }
    RevocationList list = { 0 };
    assert_fails(revocation_add_serial(&authority->arena, &list, STR("xyz0"), 1, &err),
                 ERROR_INVALID, "not a certificate serial number");
    assert_fails(revocation_set_name(&authority->arena, &list, STR("-x"), STR_EMPTY, 1, &err),
                 ERROR_INVALID, "character 1 is '-'");
    assert_fails(revocation_set_name(&authority->arena, &list, STR("x"), STR("1"), 1, &err),
                 ERROR_INVALID, "enrollment");
}

static void unknown_fields_are_preserved(void **state)
{
    Authority *authority = *state;
    static const char text[] =
        "{\"format\":\"eden.revocations/1\",\"serials\":[{\"serial\":\"aa\",\"until_ms\":1,"
        "\"why\":\"stolen\"}],\"names\":[{\"node\":\"b\",\"enrolment\":\"\",\"until_ms\":1,\"by\":"
        "7}],"
        "\"crl\":[1,null]}";
    RevocationList list;
    AUTO_CLEAR(Buf) same = buf_make(1 << 16), grown = buf_make(1 << 16);
    assert_succeeds(revocation_read(&authority->arena, str_from_c(text), &list, &err));
    revocation_print(&list, &same);
    assert_str(buf_str(&same), text);
    assert_succeeds(revocation_add_serial(&authority->arena, &list, STR("a0"), NOW_MS, &err));
    assert_succeeds(
        revocation_set_name(&authority->arena, &list, STR("b"), STR(FIRST), NOW_MS, &err));
    revocation_print(&list, &grown);
    static const char *const kept[] = { "\"why\":\"stolen\"", "\"by\":7", "\"crl\":[1,null]" };
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        assert_true(str_find(buf_str(&grown), str_from_c(kept[i]), 0) != STR_NOT_FOUND);
    }
}

static void full_list_suggests_a_remedy(void **state)
{
    Authority *authority = *state;
    RevokedSerial *serials = ARENA_ARRAY(&authority->arena, RevokedSerial, REVOCATIONS_MAX);
    RevocationList list = { .serials = serials, .serial_count = REVOCATIONS_MAX };
    for (unsigned i = 0; i < REVOCATIONS_MAX; i++) {
        serials[i] = (RevokedSerial){ .until_ms = NOW_MS };
        snprintf(serials[i].serial, sizeof serials[i].serial, "%08x", i);
    }
    assert_fails(revocation_add_serial(&authority->arena, &list, STR("ffffffff"), 1, &err),
                 ERROR_LIMIT, "rotate the CA");
    assert_succeeds(revocation_add_serial(&authority->arena, &list, STR("00000007"), 1, &err));
    AUTO_CLEAR(Buf) printed = buf_make(BUF_UNLIMITED);
    revocation_print(&list, &printed);
    RevocationList read;
    assert_succeeds(revocation_read(&authority->arena, buf_str(&printed), &read, &err));
    assert_int_equal(read.serial_count, REVOCATIONS_MAX);
    assert_true(printed.len < 1572864); /* the limit of the store */
}

static void a_full_list_accepts_further_names(void **state)
{
    Authority *authority = *state;
    Arena *arena = &authority->arena;
    RevocationList list = { .names = ARENA_ARRAY(arena, NameRule, REVOCATIONS_MAX),
                            .name_count = REVOCATIONS_MAX };
    for (unsigned i = 0; i < REVOCATIONS_MAX; i++) {
        list.names[i] = (NameRule){ .until_ms = NOW_MS + 1 + i };
        snprintf(list.names[i].node, sizeof list.names[i].node, "n%05u", i);
    }
    memcpy(list.names[3].enrollment, FIRST, sizeof FIRST); /* of an existing node */
    list.names[3].until_ms = NOW_MS;
    list.names[7].until_ms = NOW_MS + 1;
    list.names[0].until_ms = NOW_MS + HOUR;
    const NameRule *before = list.names;
    /* Memory of the arena is not always zero. */
    ArenaMark mark = arena_mark(arena);
    memset(ARENA_ARRAY(arena, char, 1 << 20), 1, 1 << 20);
    arena_release(arena, mark);
    assert_succeeds(
        revocation_set_name(arena, &list, STR("n00000x"), STR_EMPTY, NOW_MS + HOUR, &err));
    assert_int_equal(list.name_count, REVOCATIONS_MAX);
    assert_string_equal(before[7].node, "n00007"); /* which is still used */
    assert_fails(CHECK(&list, "n00000x", serial), ERROR_DENIED, "was removed");
    assert_succeeds(CHECK(&list, "n00007", serial)); /* it has ended first */
    assert_fails(CHECK(&list, "n00006", serial), ERROR_DENIED, "was removed");
    assert_fails(CHECK(&list, "n09999", serial), ERROR_DENIED, "was removed");
    for (unsigned i = 1; i < list.name_count; i++) {
        assert_true(strcmp(list.names[i - 1].node, list.names[i].node) < 0);
    }
    /* An existing entry takes no additional space. */
    assert_succeeds(revocation_set_name(arena, &list, STR("n09999"), STR(SECOND), NOW_MS, &err));
    assert_int_equal(list.name_count, REVOCATIONS_MAX);
}

/* Names of maximum length, with the maximum number of certificates. */
static void a_list_always_fits_into_the_store(void **state)
{
    Authority *authority = *state;
    Arena *arena = &authority->arena;
    RevocationList list = { .names = ARENA_ARRAY(arena, NameRule, REVOCATIONS_MAX),
                            .name_count = REVOCATIONS_MAX,
                            .serials = ARENA_ARRAY(arena, RevokedSerial, REVOCATIONS_MAX),
                            .serial_count = REVOCATIONS_MAX - 1 };
    for (unsigned i = 0; i < REVOCATIONS_MAX; i++) {
        list.names[i] = (NameRule){ .enrollment = FIRST, .until_ms = NOW_MS + i };
        list.serials[i] = (RevokedSerial){ .until_ms = NOW_MS };
        snprintf(list.names[i].node, sizeof list.names[i].node, "n%062u", i);
        snprintf(list.serials[i].serial, sizeof list.serials[i].serial, "%040x", i);
    }
    AUTO_CLEAR(Buf) printed = buf_make(BUF_UNLIMITED);
    assert_succeeds(revocation_add_serial(arena, &list, STR("ff"), NOW_MS, &err));
    revocation_print(&list, &printed);
    assert_true(printed.len < 1572864); /* the limit of the store */
    assert_int_equal(list.serial_count, REVOCATIONS_MAX);
    assert_true(list.name_count > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(revoked_serial_is_refused),
        authority_test(reused_name_inherits_nothing),
        authority_test(entries_are_pruned_a_day_after_expiry),
        authority_test(a_clock_that_is_ahead_for_a_moment_drops_nothing),
        authority_test(lists_survive_a_round_trip),
        authority_test(damaged_lists_are_rejected),
        authority_test(unknown_fields_are_preserved),
        authority_test(full_list_suggests_a_remedy),
        authority_test(a_full_list_accepts_further_names),
        authority_test(a_list_always_fits_into_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
