#include "datastore/etcd_command.h"
#include "unit.h"

static const char *value_of(const char *const *arguments, const char *option)
{
    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, option) == 0) {
            return arguments[1];
        }
    }
    fail_msg("no %s", option);
    return NULL;
}

static EtcdCommand command_of(void)
{
    return (EtcdCommand){ .data_dir = "/var/lib/eden/datastore/data",
                          .credential = "/var/lib/eden/datastore/member.pem",
                          .ca = "/var/lib/eden/datastore/ca.pem",
                          .node = STR("web1"),
                          .client = { ADDRESS_IP, ETCD_CLIENT_PORT, "10.0.0.1" },
                          .peer = { ADDRESS_IP, ETCD_PEER_PORT, "2001:db8::1" },
                          .token = "home" };
}

static void a_new_cluster_has_one_member(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdCommand command = command_of();
    command.is_new_cluster = true;
    const char *const *arguments = etcd_command_arguments(&arena, &command);
    assert_string_equal(arguments[0], "etcd");
    assert_string_equal(value_of(arguments, "--initial-cluster"),
                        "web1=https://[2001:db8::1]:2380");
    assert_string_equal(value_of(arguments, "--initial-cluster-state"), "new");
    assert_string_equal(value_of(arguments, "--listen-client-urls"), "https://10.0.0.1:2379");
    assert_string_equal(value_of(arguments, "--quota-backend-bytes"), "4294967296");
    assert_string_equal(value_of(arguments, "--max-request-bytes"), "4194304");
    assert_string_equal(value_of(arguments, "--max-txn-ops"), "512");
}

/* Another member may have any name, or none yet. */
static void a_new_member_gets_the_list_of_all(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdMember items[] = {
        { .id = 0xa, .name = STR("web1"), .peer_url = STR("https://10.0.0.3:2380") },
        { .id = 0xb, .name = STR(",x=y"), .peer_url = STR("https://10.0.0.2:2380") },
        { .id = 0xc, .peer_url = STR("https://[2001:db8::1]:2380") },
    };
    EtcdMembers members = { items, COUNT_OF(items) };
    EtcdCommand command = command_of();
    command.members = &members;
    command.own_id = 0xc;
    const char *const *arguments = etcd_command_arguments(&arena, &command);
    assert_string_equal(value_of(arguments, "--initial-cluster"),
                        "_a=https://10.0.0.3:2380,_b=https://10.0.0.2:2380,"
                        "web1=https://[2001:db8::1]:2380");
    assert_string_equal(value_of(arguments, "--initial-cluster-state"), "existing");
}

static void clients_are_not_accepted_as_members(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdCommand command = command_of();
    const char *const *arguments = etcd_command_arguments(&arena, &command);
    assert_string_equal(value_of(arguments, "--peer-cert-allowed-cn"), "eden datastore member");
    assert_non_null(value_of(arguments, "--client-cert-auth"));
    assert_non_null(value_of(arguments, "--peer-client-cert-auth"));
    assert_string_equal(value_of(arguments, "--trusted-ca-file"), command.ca);
    assert_string_equal(value_of(arguments, "--peer-trusted-ca-file"), command.ca);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_cluster_has_one_member),
        cmocka_unit_test(a_new_member_gets_the_list_of_all),
        cmocka_unit_test(clients_are_not_accepted_as_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
