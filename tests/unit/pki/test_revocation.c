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
    assert_goes(CHECK(&list, "web1", serial));
    assert_goes(
        revocation_add_serial(&authority->arena, &list, str_from_c(serial), NOW_MS + HOUR, &err));
    assert_goes(revocation_add_serial(&authority->arena, &list, str_from_c(serial), NOW_MS, &err));
    assert_int_equal(list.serial_count, 1);
    assert_fails(CHECK(&list, "web1", serial), ERROR_DENIED,
                 "the certificate " FIRST "8899aabbccddeeff of 'web1' was revoked");
    assert_goes(CHECK(&list, "web1", FIRST "8899aabbccddeefe"));
    assert_goes(CHECK(&list, "web1", FIRST));
}

/* CLUSTER H 12: delete, add again under the same name: nothing of before works. */
static void reused_name_inherits_nothing(void **state)
{
    Authority *authority = *state;
    RevocationList list = { 0 };
    NodeGrant grant = node_grant(authority, "web1");
    Certificate old = issue_node(authority, &grant), renewed = issue_node(authority, &grant);
    assert_goes(CHECK(&list, "web1", old.serial));
    /* Removed: nobody of that name, whatever was issued for it and whoever kept its number. */
    assert_goes(
        revocation_set_name(&authority->arena, &list, STR("web1"), STR_EMPTY, NOW_MS + HOUR, &err));
    assert_fails(CHECK(&list, "web1", old.serial), ERROR_DENIED, "the node 'web1' was removed");
    assert_fails(CHECK(&list, "web1", renewed.serial), ERROR_DENIED, "was removed");
    assert_goes(CHECK(&list, "web10", old.serial));
    /* Enrolled again, even with the same key. */
    grant.enrolment = STR(SECOND);
    Certificate now = issue_node(authority, &grant);
    assert_goes(
        revocation_set_name(&authority->arena, &list, STR("web1"), STR(SECOND), NOW_MS, &err));
    assert_goes(CHECK(&list, "web1", now.serial));
    assert_fails(CHECK(&list, "web1", old.serial), ERROR_DENIED,
                 "from an earlier enrolment of 'web1'");
    assert_fails(CHECK(&list, "web1", renewed.serial), ERROR_DENIED, "from an earlier enrolment");
    assert_fails(CHECK(&list, "web1", SECOND), ERROR_DENIED, "from an earlier enrolment");
    assert_int_equal(list.names[0].until_ms, NOW_MS + HOUR);
}

static void entries_go_when_their_certificates_have_expired(void **state)
{
    Authority *authority = *state;
    RevocationList list = { 0 };
    assert_goes(revocation_add_serial(&authority->arena, &list, STR("aa"), NOW_MS, &err));
    assert_goes(revocation_add_serial(&authority->arena, &list, STR("ab"), NOW_MS + HOUR, &err));
    assert_goes(revocation_set_name(&authority->arena, &list, STR("a"), STR_EMPTY, NOW_MS, &err));
    assert_goes(
        revocation_set_name(&authority->arena, &list, STR("b"), STR_EMPTY, NOW_MS + HOUR, &err));
    revocation_prune(&list, NOW_MS - 1);
    assert_int_equal(list.serial_count + list.name_count, 4);
    revocation_prune(&list, NOW_MS);
    assert_int_equal(list.serial_count, 1);
    assert_string_equal(list.serials[0].serial, "ab");
    assert_int_equal(list.name_count, 1);
    assert_string_equal(list.names[0].node, "b");
}

/* In any order of adding: found, sorted, and the same after a round through the store. */
static void lists_come_back(void **state)
{
    Authority *authority = *state;
    Arena *arena = &authority->arena;
    RevocationList list = { 0 }, read;
    for (unsigned i = 0; i < 300; i++) {
        unsigned number = i * 7919 % 300;
        Str text = arena_format(arena, "%04x", number);
        assert_goes(revocation_add_serial(arena, &list, text, NOW_MS + i, &err));
        assert_goes(revocation_set_name(arena, &list, arena_format(arena, "n%u", number),
                                        i % 2 == 0 ? STR_EMPTY : STR(FIRST), NOW_MS + i, &err));
    }
    AUTO_CLEAR(Buf) printed = buf_make(1 << 20), again = buf_make(1 << 20);
    revocation_print(&list, &printed);
    assert_goes(revocation_read(arena, buf_str(&printed), &read, &err));
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
    assert_goes(revocation_check(&read, STR("other"), STR("012c"), &err));
}

#define LIST(serials, names) \
    "{\"format\":\"eden.revocations/1\",\"serials\":[" serials "],\"names\":[" names "]}"

/* A list that cannot be read must not pass for one that allows everybody. */
static void damaged_lists_are_refused(void **state)
{
    Authority *authority = *state;
    static const char *const rows[][2] = {
        { LIST("{\"serial\":\"ab\",\"until_ms\":1},{\"serial\":\"aa\",\"until_ms\":1}", ""),
          "serial 2 is invalid or out of order" },
        { LIST("{\"serial\":\"aa\",\"until_ms\":1},{\"serial\":\"aa\",\"until_ms\":1}", ""),
          "out of order" },
        { LIST("{\"serial\":\"AA\",\"until_ms\":1}", ""), "serial 1 is invalid" },
        { LIST("{\"serial\":\"\",\"until_ms\":1}", ""), "serial 1 is invalid" },
        { LIST("{\"serial\":\"aa\"}", ""), "serial 1: 'until_ms' is missing" },
        { LIST("1", ""), "serial 1: it is no object" },
        { LIST("", "{\"node\":\"b\",\"enrolment\":\"\",\"until_ms\":1},"
                   "{\"node\":\"a\",\"enrolment\":\"\",\"until_ms\":1}"),
          "name 2 is out of order" },
        { LIST("", "{\"node\":\"../b\",\"enrolment\":\"\",\"until_ms\":1}"),
          "name 1: invalid node name: character 1" },
        { LIST("", "{\"node\":\"b\",\"enrolment\":\"1\",\"until_ms\":1}"), "name 1: an enrolment" },
        { "{\"format\":\"eden.revocations/1\",\"serials\":[]}", "'names' is missing" },
        { "{\"format\":\"eden.revocations/9\",\"serials\":[],\"names\":[]}", "only" },
        { "", "the list of revocations: " },
    };
    RevocationList read;
    assert_goes(revocation_read(&authority->arena, STR(LIST("", "")), &read, &err));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_fails(revocation_read(&authority->arena, str_from_c(rows[i][0]), &read, &err),
                     ERROR_INVALID, rows[i][1]);
    }
    RevocationList list = { 0 };
    assert_fails(revocation_add_serial(&authority->arena, &list, STR("xyz0"), 1, &err),
                 ERROR_INVALID, "no serial number");
    assert_fails(revocation_set_name(&authority->arena, &list, STR("-x"), STR_EMPTY, 1, &err),
                 ERROR_INVALID, "character 1 is '-'");
    assert_fails(revocation_set_name(&authority->arena, &list, STR("x"), STR("1"), 1, &err),
                 ERROR_INVALID, "enrolment");
}

static void full_list_says_what_to_do(void **state)
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
    assert_goes(revocation_add_serial(&authority->arena, &list, STR("00000007"), 1, &err));
    AUTO_CLEAR(Buf) printed = buf_make(BUF_UNLIMITED);
    revocation_print(&list, &printed);
    RevocationList read;
    assert_goes(revocation_read(&authority->arena, buf_str(&printed), &read, &err));
    assert_int_equal(read.serial_count, REVOCATIONS_MAX);
    assert_true(printed.len < 1572864); /* what the store takes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        authority_test(revoked_serial_is_refused),
        authority_test(reused_name_inherits_nothing),
        authority_test(entries_go_when_their_certificates_have_expired),
        authority_test(lists_come_back),
        authority_test(damaged_lists_are_refused),
        authority_test(full_list_says_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
