#include "server/create_cluster.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cluster/cluster_keys.h"
#include "membership/lost_settings.h"
#include "membership/node_record.h"
#include "pki/credential.h"
#include "scratch.h"
#include "server/cluster_setup.h"
#include "store/store.h"

#define NOW_MS 1800000000000

typedef struct Got {
    Loop *loop;
    Arena *arena;
    Str value;
    int64_t count;
} Got;

static void got(void *context, const StoreReply *reply, const Error *err)
{
    Got *answer = context;
    assert_null(err);
    answer->count = reply->ops[0].count;
    answer->value =
        answer->count > 1 ? arena_copy(answer->arena, reply->ops[0].kvs[1].value) : STR_EMPTY;
    loop_stop(answer->loop);
}

/* Everything in the store of the cluster: the first key is its layout, the second the node. */
static Got read_store(Scratch *scratch)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(Store) *store = NULL;
    Error err;
    Got answer = { .loop = loop, .arena = &scratch->arena };
    assert_true(
        store_open_sqlite(loop, scratch_place(scratch, "state/server/store"), NULL, &store, &err));
    assert_true(store_list(store, STR("/"), got, &answer, &err));
    loop_run(loop);
    return answer;
}

static ClusterSpec founding_of(Scratch *scratch, const Str *names, uint32_t count)
{
    return (ClusterSpec){ .state_dir = scratch_place(scratch, "state"),
                          .settings = { .cluster = "blue",
                                        .node = "s1",
                                        .rpc = STR("0.0.0.0:1337"),
                                        .api = STR("[::]:1338"),
                                        .names = names,
                                        .name_count = count },
                          .now_ms = NOW_MS };
}

static Directory open_in(Scratch *scratch, const char *name)
{
    Directory directory;
    Error err;
    assert_true(directory_open(scratch_place(scratch, name), &directory, &err));
    return directory;
}

static void a_cluster_has_a_ca_a_store_and_a_node(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    const Str names[] = { STR("s1.example.net"), STR("10.0.0.1") };
    ClusterSpec founding = founding_of(scratch, names, 2);
    Pin ca;
    Error err;
    if (!cluster_create(&founding, &ca, &err)) {
        fail_msg("%s", err.text);
    }
    AUTO_CLEAR(Directory) server = open_in(scratch, "state/server");
    AUTO_CLEAR(Directory) agent = open_in(scratch, "state/agent");
    AUTO_CLEAR(Credential) authority = { 0 };
    AUTO_CLEAR(Credential) node = { 0 };
    AUTO_CLEAR(Credential) serving = { 0 };
    assert_true(credential_load(&server, SERVER_CA, arena, &authority, &err));
    assert_true(credential_load(&server, SERVER_SERVING, arena, &serving, &err));
    assert_true(credential_load(&agent, AGENT_CREDENTIAL, arena, &node, &err));
    assert_true(pin_equal(&authority.chain.items[0].pin, &ca));
    assert_true(certificate_verify(node.chain, authority.chain, USE_CLIENT, NOW_MS, &err));
    assert_true(certificate_verify(serving.chain, authority.chain, USE_SERVER, NOW_MS, &err));
    assert_string_equal(node.chain.items[0].identity.node, "s1");
    assert_string_equal(node.chain.items[0].identity.cluster, "blue");
    Got record = read_store(scratch);
    NodeRecord kept;
    assert_int_equal(record.count, 4); /* the node, its trust, the id of the store, its layout */
    assert_true(node_record_read(arena, record.value, &kept, &err));
    assert_true(kept.is_server);
    assert_string_equal(kept.enrollment, node.chain.items[0].enrollment);
    assert_string_equal(kept.serial, node.chain.items[0].serial);
    Str text;
    ServerSettings settings;
    assert_true(
        directory_read(&server, arena, SERVER_SETTINGS_FILE, SERVER_SETTINGS_MAX, &text, &err));
    assert_true(server_settings_read(arena, text, &settings, &err));
    assert_string_equal(settings.cluster, "blue");
    assert_int_equal(settings.name_count, 2);
    assert_true(str_eq(settings.names[1], STR("10.0.0.1")));
}

static void there_is_one_cluster_on_a_machine(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = founding_of(scratch, names, 1);
    Pin first, second;
    Error err;
    assert_true(cluster_create(&founding, &first, &err));
    assert_false(cluster_create(&founding, &second, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
}

static void two_concurrent_creations_both_fail(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = founding_of(scratch, names, COUNT_OF(names));
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    AUTO_CLEAR(FileLock) other = { .descriptor = -1 };
    Pin ca;
    Str holder;
    Error err;
    assert_true(directory_make(scratch_place(scratch, "state/agent"), &agent, &err));
    assert_true(
        file_lock_take(&agent, CREATE_LOCK, STR("x"), &scratch->arena, &other, &holder, &err));
    assert_false(cluster_create(&founding, &ca, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    file_lock_release(&other);
    assert_true(cluster_create(&founding, &ca, &err));
}

static void leftovers_of_a_killed_creation_are_not_a_cluster(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = founding_of(scratch, names, 1);
    Pin first, second;
    Error err;
    assert_true(cluster_create(&founding, &first, &err));
    assert_int_equal(unlink(scratch_place(scratch, "state/server/" SERVER_SETTINGS_FILE)), 0);
    /* A cluster that has lost its settings looks the same except for that. */
    assert_false(cluster_create(&founding, &second, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, SERVER_SETTINGS_FILE " is missing"));
    scratch_put(scratch, "state/server/" CREATE_UNFINISHED, "");
    snprintf(founding.settings.node, sizeof founding.settings.node, "s2");
    assert_true(cluster_create(&founding, &second, &err));
    assert_false(pin_equal(&first, &second));
    Got record = read_store(scratch);
    NodeRecord kept;
    assert_int_equal(record.count, 4); /* the node, its trust, the id of the store, its layout */
    assert_true(node_record_read(&scratch->arena, record.value, &kept, &err));
    assert_string_equal(kept.name, "s2");
}

/* Its agent would look for a nonexistent server, and no machine could join. */
static void a_failed_creation_leaves_no_node(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = founding_of(scratch, names, COUNT_OF(names));
    Pin ca;
    Error err;
    scratch_put(scratch, "state/server/store", "in the way");
    assert_false(cluster_create(&founding, &ca, &err));
    Directory agent = open_in(scratch, "state/agent");
    assert_true(directory_has(&agent, AGENT_CREDENTIAL)); /* it had come so far */
    assert_false(directory_has(&agent, AGENT_STATE));
    directory_close(&agent);
}

static void a_member_of_another_cluster_creates_none(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = founding_of(scratch, names, 1);
    Pin ca;
    Error err;
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    assert_true(directory_make(scratch_place(scratch, "state/agent"), &agent, &err));
    assert_true(directory_write(&agent, AGENT_STATE, STR("x"), true, &err));
    assert_false(cluster_create(&founding, &ca, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "eden leave"));
}

/* Creating a cluster was killed, and the machine has joined another cluster since. */
static void a_leftover_ca_does_not_make_a_member_a_server(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = founding_of(scratch, names, 1);
    Pin ca;
    Error err;
    assert_true(cluster_create(&founding, &ca, &err));
    AUTO_CLEAR(Directory) server = open_in(scratch, "state/server");
    AUTO_CLEAR(Directory) agent = open_in(scratch, "state/agent");
    assert_true(directory_remove(&server, SERVER_SETTINGS_FILE, &err));
    assert_true(directory_write(&server, CREATE_UNFINISHED, STR_EMPTY, false, &err));
    assert_true(directory_write(&agent, AGENT_BUNDLE, STR("another"), true, &err));
    assert_false(cluster_create(&founding, &ca, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_true(directory_has(&agent, AGENT_STATE));
}

/* Leaving was killed: the leftovers mean nothing. */
static void a_key_without_a_node_does_not_interfere(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = founding_of(scratch, names, 1);
    Pin ca;
    Error err;
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    assert_true(directory_make(scratch_place(scratch, "state/agent"), &agent, &err));
    assert_true(directory_write(&agent, AGENT_CREDENTIAL, STR("x"), true, &err));
    assert_true(cluster_create(&founding, &ca, &err));
}

/* A restored store replaces a lost one, but not one that the server can save. */
static void a_lost_store_is_replaced_if_unused(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("s1") };
    ClusterSpec founding = founding_of(scratch, names, 1);
    AUTO(Loop) *loop = loop_new();
    AUTO(Store) *store = NULL;
    ClusterSetup work;
    Pin ca;
    Error err;
    assert_true(cluster_create(&founding, &ca, &err));
    assert_true(
        store_open_sqlite(loop, scratch_place(scratch, "state/server/store"), NULL, &store, &err));
    assert_int_equal(unlink(scratch_place(scratch, "state/server/store/store.db")), 0);
    setup_init(&work, &founding);
    work.replaces_lost = true;
    assert_false(setup_open(&work, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "a running server"));
    setup_clear(&work);
    store_close(TAKE(store)); /* which saves it */
    assert_int_equal(unlink(scratch_place(scratch, "state/server/store/store.db")), 0);
    setup_init(&work, &founding);
    work.replaces_lost = true;
    assert_true(setup_open(&work, &err));
    setup_clear(&work);
}

static void invalid_names_are_refused(void **state)
{
    Scratch *scratch = *state;
    const Str names[] = { STR("*.example.net") };
    ClusterSpec founding = founding_of(scratch, names, 1);
    Pin ca;
    Error err;
    assert_false(cluster_create(&founding, &ca, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    AUTO_CLEAR(Directory) server = open_in(scratch, "state/server");
    assert_false(directory_has(&server, SERVER_SETTINGS_FILE));
}

static void settings_are_read_strictly(void **state)
{
    Scratch *scratch = *state;
    static const struct {
        const char *text;
        const char *wanted;
    } cases[] = {
        { "{", "" },
        { "[]", "" },
        { "{\"format\":\"eden.server/2\"}", "eden.server/1" },
        { "{\"format\":\"eden.server/"
          "1\",\"cluster\":\"Blue\",\"node\":\"s1\",\"store\":\"i\",\"rpc\":\"a\","
          "\"api\":\"b\",\"names\":[\"a\"]}",
          "" },
        { "{\"format\":\"eden.server/"
          "1\",\"cluster\":\"blue\",\"node\":\"s1\",\"store\":\"i\",\"rpc\":\"a\","
          "\"api\":\"b\",\"names\":[]}",
          "'names': must not be empty" },
        { "{\"format\":\"eden.server/"
          "1\",\"cluster\":\"blue\",\"node\":\"s1\",\"store\":\"i\",\"rpc\":\"a\","
          "\"api\":\"b\",\"names\":[1]}",
          "'names/0': must be a string" },
        { "{\"format\":\"eden.server/"
          "1\",\"cluster\":\"blue\",\"node\":\"s1\",\"store\":\"i\",\"rpc\":\"a\","
          "\"api\":\"b\",\"names\":[\"a\"],\"more\":1}",
          "'more': unknown field" },
        { "{\"format\":\"eden.server/1\",\"cluster\":\"blue\",\"node\":\"s1\",\"store\":\"i\",\n"
          "\"rcp\":\"a\",\"api\":\"b\",\"names\":[\"a\"]}",
          "line 2: 'rcp': unknown field; did you mean 'rpc'?" },
        { "{\"format\":\"eden.server/1\",\"cluster\":\"blue\",\"node\":\"s1\",\"store\":\"i\","
          "\"rpc\":\"a\",\"api\":\"b\",\"names\":[\"a\"],\"connections_per_address\":0}",
          "'connections_per_address': must be from 1 to" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ServerSettings settings;
        Error err;
        assert_false(
            server_settings_read(&scratch->arena, str_from_c(cases[i].text), &settings, &err));
        if (strstr(err.text, cases[i].wanted) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].wanted, err.text);
        }
        assert_non_null(strstr(err.text, SERVER_SETTINGS_FILE));
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_cluster_has_a_ca_a_store_and_a_node),
        ROW(there_is_one_cluster_on_a_machine),
        ROW(leftovers_of_a_killed_creation_are_not_a_cluster),
        ROW(a_member_of_another_cluster_creates_none),
        ROW(a_leftover_ca_does_not_make_a_member_a_server),
        ROW(a_key_without_a_node_does_not_interfere),
        ROW(a_failed_creation_leaves_no_node),
        ROW(two_concurrent_creations_both_fail),
        ROW(a_lost_store_is_replaced_if_unused),
        ROW(invalid_names_are_refused),
        ROW(settings_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
