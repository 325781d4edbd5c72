#include "server/agent_files.h"

#include "membership/authority.h"
#include "pki/ca.h"
#include "pki/credential.h"
#include "scratch.h"
#include "server/cluster_setup.h"

#define NOW_MS 1800000000000

typedef struct Machine {
    Scratch *scratch;
    Directory server, agent;
    const char *state_dir;
    ServerSettings settings;
    Str enrollment;
} Machine;

/* A newly created server whose agent has run. */
static void machine_make(Machine *machine, Scratch *scratch)
{
    static const Str names[] = { { "s1", 2 } };
    AUTO_CLEAR(Credential) node = { 0 };
    Error err;
    Pin pin;
    *machine = (Machine){ .scratch = scratch,
                          .state_dir = scratch_place(scratch, "state"),
                          .settings = { .cluster = "blue",
                                        .node = "s1",
                                        .rpc = STR("0.0.0.0:1337"),
                                        .api = STR("[::]:1338"),
                                        .names = names,
                                        .name_count = 1 } };
    ClusterSpec founding = { .state_dir = machine->state_dir,
                             .settings = machine->settings,
                             .now_ms = NOW_MS };
    assert_true(cluster_create(&founding, &pin, &err));
    assert_true(directory_open(scratch_place(scratch, "state/server"), &machine->server, &err));
    assert_true(directory_open(scratch_place(scratch, "state/agent"), &machine->agent, &err));
    assert_true(credential_load(&machine->agent, AGENT_CREDENTIAL, &scratch->arena, &node, &err));
    machine->enrollment = arena_copy(&scratch->arena, str_from_c(node.chain.items[0].enrollment));
    assert_true(
        directory_write(&machine->agent, AGENT_ENROLLMENT, machine->enrollment, false, &err));
}

static void machine_clear(Machine *machine)
{
    directory_close(&machine->server);
    directory_close(&machine->agent);
}

static void lose_all(Machine *machine)
{
    Error err;
    assert_true(directory_remove(&machine->agent, AGENT_STATE, &err));
    assert_true(directory_remove(&machine->agent, AGENT_BUNDLE, &err));
    assert_true(directory_remove(&machine->agent, AGENT_CREDENTIAL, &err));
}

/* The agent trusts all of `cas`, and its certificate is from the first of them. */
static void expect_node(Machine *machine, const Credential *const *cas, size_t count)
{
    Arena *arena = &machine->scratch->arena;
    Buf wanted = buf_make_in(arena, BUF_UNLIMITED);
    AUTO_CLEAR(Credential) node = { 0 };
    Str bundle;
    Error err;
    for (size_t i = 0; i < count; i++) {
        buf_put(&wanted, certificate_pem(arena, &cas[i]->chain.items[0]));
    }
    assert_true(
        directory_read(&machine->agent, arena, AGENT_BUNDLE, AGENT_BUNDLE_MAX, &bundle, &err));
    assert_true(str_eq(bundle, buf_str(&wanted)));
    assert_true(credential_load(&machine->agent, AGENT_CREDENTIAL, arena, &node, &err));
    CertificateSet first = { cas[0]->chain.items, 1 };
    assert_true(certificate_verify(node.chain, first, USE_CLIENT, NOW_MS, &err));
    assert_true(str_eq_c(machine->enrollment, node.chain.items[0].enrollment));
    assert_true(directory_has(&machine->agent, AGENT_STATE));
}

static void lost_files_are_created_for_the_same_node(void **state)
{
    Machine machine;
    AUTO_CLEAR(Credential) ca = { 0 };
    Error err;
    machine_make(&machine, *state);
    assert_true(credential_load(&machine.server, SERVER_CA, &machine.scratch->arena, &ca, &err));
    lose_all(&machine);
    assert_true(agent_files_restore(machine.state_dir, NOW_MS, &err));
    expect_node(&machine, (const Credential *[]){ &ca }, 1);
    machine_clear(&machine);
}

/* Toward the end of a rotation the old CA is no longer trusted by any node. */
static void during_a_rotation_it_is_from_the_signing_ca(void **state)
{
    Machine machine;
    AUTO_CLEAR(Credential) ca = { 0 };
    AUTO_CLEAR(Credential) next = { 0 };
    Certificate made;
    Pin pin;
    Error err;
    machine_make(&machine, *state);
    Arena *arena = &machine.scratch->arena;
    assert_true(credential_load(&machine.server, SERVER_CA, arena, &ca, &err));
    assert_true(ca_make(arena, STR("blue"), NOW_MS, &next, &err));
    assert_true(credential_save(&machine.server, AUTHORITY_CA_NEXT, next.key, next.chain, &err));
    lose_all(&machine);
    assert_true(agent_files_restore(machine.state_dir, NOW_MS, &err));
    expect_node(&machine, (const Credential *[]){ &ca, &next }, 2);
    NodeIssue making = { .directory = &machine.server,
                         .file = SERVER_NODE,
                         .ca = &next,
                         .settings = &machine.settings,
                         .enrollment = machine.enrollment,
                         .now_ms = NOW_MS };
    assert_true(node_issue(arena, &making, &made, &pin, &err));
    lose_all(&machine);
    assert_true(agent_files_restore(machine.state_dir, NOW_MS, &err));
    expect_node(&machine, (const Credential *[]){ &next, &ca }, 2);
    machine_clear(&machine);
}

/* Leaving removes the enrollment too: a machine that has left does not return. */
static void a_node_that_left_does_not_return(void **state)
{
    Machine machine;
    Error err;
    machine_make(&machine, *state);
    lose_all(&machine);
    assert_true(directory_remove(&machine.agent, AGENT_ENROLLMENT, &err));
    assert_false(agent_files_restore(machine.state_dir, NOW_MS, &err));
    assert_false(directory_has(&machine.agent, AGENT_STATE));
    machine_clear(&machine);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(lost_files_are_created_for_the_same_node),
        ROW(during_a_rotation_it_is_from_the_signing_ca),
        ROW(a_node_that_left_does_not_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
