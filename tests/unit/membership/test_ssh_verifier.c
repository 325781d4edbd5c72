/* Verifying a machine over SSH, with scripts in place of ssh that behave in all possible ways. The
 * real one and a real sshd are in tests/cluster. */
#include "membership/ssh_verifier.h"

#include "cluster/cluster_keys.h"
#include "membership/pending_record.h"
#include "net/world.h"
#include "pki/ca.h"
#include "pki/join_answer.h"
#include "ready_state.h"
#include "sys/file.h"

#define PREFIX   STR("/eden")
#define HOST_KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Arena *arena;
    Store *store;
    ClusterStore cluster_store;
    Credential ca;
    CaSet cas;
    Pin key;
    SshVerifier *back;
    bool reported;
    bool approved;
    Str host_key;
    Error err;
    bool is_stored;
    PendingRecord found;
} Fixture;

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    f->arena = &f->scratch->arena;
    *state = f;
    world_open(&f->world);
    f->store = store_open_memory(f->world.loop, NULL);
    f->cluster_store = (ClusterStore){ .loop = f->world.loop, .store = f->store, .prefix = PREFIX };
    follow_store(&f->cluster_store);
    while (!state_age(f->cluster_store.state).is_ready) {
        world_pass(&f->world, 1);
    }
    memset(f->key.bytes, 7, sizeof f->key.bytes);
    assert_true(ca_make(f->arena, STR("blue"), loop_wall_ms(f->world.loop), &f->ca, &err));
    f->cas = (CaSet){ &f->ca, { f->ca.chain.items, 1 } };
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    ssh_verifier_free(f->back);
    follow_stop(&f->cluster_store);
    store_close(f->store);
    follow_free(&f->cluster_store);
    world_pass(&f->world, 0);
    credential_clear(&f->ca);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* --- The world -------------------------------------------------------------------------------- */

static void seen(void *context)
{
    Fixture *f = context;
    f->is_stored = true;
    loop_stop(f->world.loop);
}

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    if (reply->op_count > 0 && reply->ops[0].kv_count > 0) {
        Error why;
        assert_true(pending_record_read(f->arena, arena_copy(f->arena, reply->ops[0].kvs[0].value),
                                        &f->found, &why));
    }
    state_wait(f->cluster_store.state, reply->revision, seen, f);
}

static void put_record(Fixture *f, const PendingRecord *record)
{
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED);
    Error err;
    pending_record_print(record, &text);
    assert_true(store_put(f->store, cluster_key_joining(f->arena, PREFIX, STR("web1")),
                          buf_str(&text), 0, stored, f, &err));
    world_run(&f->world);
}

static void put_joining(Fixture *f, const Pin *key)
{
    PendingRecord record = { .name = "web1" };
    pending_record_add(&record, key, "10.0.0.2:99", loop_wall_ms(f->world.loop));
    put_record(f, &record);
}

static bool is_approved(Fixture *f)
{
    Error err;
    f->found = (PendingRecord){ 0 };
    assert_true(
        store_get(f->store, cluster_key_joining(f->arena, PREFIX, STR("web1")), stored, f, &err));
    world_run(&f->world);
    const PendingMachine *machine = pending_record_first(&f->found);
    return machine != NULL && machine->is_approved;
}

/* `script` replaces ssh, in a shell. */
static void open_back(Fixture *f, const char *script, int64_t limit_ms)
{
    scratch_put(f->scratch, "ssh", arena_format(f->arena, "#!/bin/sh\n%s\n%c", script, '\0').data);
    chmod(scratch_place(f->scratch, "ssh"), 0755);
    f->back = ssh_verifier_new(&(SshVerifierSettings){
        .cluster_store = f->cluster_store,
        .cluster = STR("blue"),
        .directory = f->scratch->path,
        .cas = &f->cas,
        .limit_ms = limit_ms,
        .program = scratch_place(f->scratch, "ssh"),
    });
}

static void reported(void *context, const SshVerifyResult *done, const Error *err)
{
    Fixture *f = context;
    assert_false(f->reported);
    f->reported = true;
    f->approved = err == NULL;
    f->err = err == NULL ? (Error){ 0 } : *err;
    if (done != NULL) {
        assert_true(pin_equal(&done->key, &f->key));
        f->host_key = arena_copy(f->arena, done->host_key.blob);
    }
    loop_stop(f->world.loop);
}

static SshVerifyRequest make_request(Fixture *f, bool accept_new)
{
    SshVerifyRequest request = { .node = STR("web1"), .trust.accept_new = accept_new };
    Error err;
    assert_true(ssh_target_parse(STR("web1.example.net:2222"), &request.target, &err));
    assert_true(accept_new || ssh_trust_add(f->arena, &request.trust, STR(HOST_KEY), &err));
    return request;
}

static void approve(Fixture *f)
{
    SshVerifyRequest request = make_request(f, false);
    f->reported = false;
    ssh_verifier_approve(f->back, &request, reported, f);
    while (!f->reported) {
        world_run(&f->world);
    }
}

static void expect_failure(Fixture *f, ErrorKind kind, const char *chunk)
{
    approve(f);
    assert_false(f->approved);
    if (f->err.kind != kind || strstr(f->err.text, chunk) == NULL) {
        fail_msg("%s: %s", error_kind_name(f->err.kind), f->err.text);
    }
    assert_false(is_approved(f));
    assert_int_not_equal(access(scratch_place(f->scratch, "known_hosts-0"), F_OK), 0);
}

/* A script that responds like a machine with that key. */
static const char *answering(Fixture *f, JoinAnswerResult result, const char *node, const Pin *key)
{
    JoinAnswer answer = { .result = result, .key = *key };
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED);
    snprintf(answer.node, sizeof answer.node, "%s", node);
    join_answer_print(&answer, &text);
    return arena_format(f->arena,
                        "cat > asked; printf '%%s\\n' \"$@\" > words; env > variables; cp "
                        "known_hosts-0 hosts; printf '%%s' '%" STR_FMT "'%c",
                        STR_ARG(buf_str(&text)), '\0')
        .data;
}

static Str read_back(Fixture *f, const char *name)
{
    Str text;
    Error err;
    if (!file_read(f->arena, scratch_place(f->scratch, name), 1 << 20, &text, &err)) {
        fail_msg("%s", err.text);
    }
    return text;
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void machine_that_answers_with_its_key_is_approved(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    open_back(f, answering(f, JOIN_ANSWER_TRUSTED, "web1", &f->key), 0);
    approve(f);
    if (!f->approved) {
        fail_msg("%s", f->err.text);
    }
    assert_true(is_approved(f));
    assert_true(pin_equal(&f->found.machines[0].key, &f->key));
    /* What the machine was asked, and how it was reached. */
    JoinQuestion question;
    Error err;
    assert_true(join_question_read(f->arena, read_back(f, "asked"), &question, &err));
    assert_string_equal(question.cluster, "blue");
    assert_string_equal(question.node, "web1");
    assert_true(pin_equal(&question.key, &f->key));
    assert_true(pin_equal(&question.cas.items[0].pin, &f->ca.chain.items[0].pin));
    assert_str(read_back(f, "hosts"), SSH_HOST_ALIAS " " HOST_KEY "\n");
    assert_true(str_ends(read_back(f, "words"),
                         STR("-l\nroot\n-p\n2222\n--\nweb1.example.net\neden join --answer\n")));
    assert_int_equal(str_find(read_back(f, "variables"), STR("SSH_"), 0), STR_NOT_FOUND);
    assert_int_not_equal(access(scratch_place(f->scratch, "known_hosts-0"), F_OK), 0);
}

static void machine_with_another_key_is_not_approved(void **state)
{
    Fixture *f = *state;
    Pin other = f->key;
    char text[PIN_TEXT + 1];
    other.bytes[0] ^= 1;
    pin_text(&other, text);
    put_joining(f, &f->key);
    /* It may well claim that all is fine. */
    open_back(f, answering(f, JOIN_ANSWER_TRUSTED, "web1", &other), 0);
    expect_failure(f, ERROR_CONFLICT, text);
}

static void machine_that_claims_another_ca_is_not_approved(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    open_back(f, answering(f, JOIN_ANSWER_OTHER_CA, "web1", &f->key), 0);
    expect_failure(f, ERROR_CONFLICT, "a different CA");
}

static void machine_with_another_name_is_not_approved(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    open_back(f, answering(f, JOIN_ANSWER_OTHER_NAME, "web2", &f->key), 0);
    expect_failure(f, ERROR_CONFLICT, "as 'web2'");
}

static void machine_without_eden_is_reported(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    open_back(f, "echo 'sh: 1: eden: not found' >&2; exit 127", 0);
    expect_failure(f, ERROR_UNAVAILABLE, "eden not found on web1.example.net");
}

static void machine_with_unexpected_output_is_not_approved(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    open_back(f, "echo Welcome", 0);
    expect_failure(f, ERROR_CONFLICT, "did not send a valid response");
}

static void hanging_ssh_is_killed(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    open_back(f, "exec sleep 1000", 200);
    expect_failure(f, ERROR_TIMEOUT, "did not respond");
}

static void machine_with_too_much_output_is_disconnected(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    open_back(f, "while :; do echo 0123456789012345678901234567890123456789; done", 0);
    expect_failure(f, ERROR_LIMIT, "too much");
}

static void without_ssh_the_missing_program_is_named(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    open_back(f, "", 0);
    unlink(scratch_place(f->scratch, "ssh"));
    expect_failure(f, ERROR_NOT_FOUND, "openssh-client");
}

static void machines_without_a_request_are_not_contacted(void **state)
{
    Fixture *f = *state;
    open_back(f, "touch visited", 0);
    approve(f);
    assert_int_equal(f->err.kind, ERROR_NOT_FOUND);
    assert_int_not_equal(access(scratch_place(f->scratch, "visited"), F_OK), 0);
}

/* The key that sends requests during the connection is not the one that was verified. */
static void a_concurrent_request_is_not_approved(void **state)
{
    Fixture *f = *state;
    Pin other = f->key;
    other.bytes[0] ^= 1;
    put_joining(f, &f->key);
    open_back(f,
              arena_format(f->arena, "touch visited; while ! test -e go; do :; done; %s%c",
                           answering(f, JOIN_ANSWER_TRUSTED, "web1", &f->key), '\0')
                  .data,
              0);
    SshVerifyRequest request = make_request(f, false);
    ssh_verifier_approve(f->back, &request, reported, f);
    while (access(scratch_place(f->scratch, "visited"), F_OK) != 0) {
        world_pass(&f->world, 1);
    }
    put_joining(f, &other);
    scratch_put(f->scratch, "go", "");
    while (!f->reported) {
        world_run(&f->world);
    }
    /* The key that the machine itself has reported is, whatever happened to its row. */
    assert_true(f->approved);
    assert_true(is_approved(f));
    assert_int_equal(f->found.count, 2);
    assert_true(pin_equal(&pending_record_first(&f->found)->key, &f->key));
}

/* The machine reports which of the keys is its own, and then sends requests with that one. */
static void of_several_requests_the_machine_names_its_own(void **state)
{
    Fixture *f = *state;
    PendingRecord record = { .name = "web1" };
    Pin other = f->key;
    other.bytes[0] ^= 1;
    pending_record_add(&record, &f->key, "10.0.0.2:99", loop_wall_ms(f->world.loop));
    pending_record_add(&record, &other, "10.0.0.3:99", loop_wall_ms(f->world.loop) + 1);
    put_record(f, &record);
    open_back(f,
              arena_format(f->arena, "if [ -e asked ]; then %s; else %s; fi%c",
                           answering(f, JOIN_ANSWER_TRUSTED, "web1", &f->key),
                           answering(f, JOIN_ANSWER_OTHER_KEY, "web1", &f->key), '\0')
                  .data,
              0);
    approve(f);
    assert_true(f->approved);
    assert_true(is_approved(f));
    assert_true(pin_equal(&pending_record_first(&f->found)->key, &f->key));
    JoinQuestion question;
    Error err;
    assert_true(join_question_read(f->arena, read_back(f, "asked"), &question, &err));
    assert_true(pin_equal(&question.key, &f->key));
}

static void new_host_key_is_reported(void **state)
{
    Fixture *f = *state;
    put_joining(f, &f->key);
    const char *script = answering(f, JOIN_ANSWER_TRUSTED, "web1", &f->key);
    open_back(f,
              arena_format(f->arena, "%s; echo '" SSH_HOST_ALIAS " " HOST_KEY "' > known_hosts-0%c",
                           script, '\0')
                  .data,
              0);
    SshVerifyRequest request = make_request(f, true);
    ssh_verifier_approve(f->back, &request, reported, f);
    while (!f->reported) {
        world_run(&f->world);
    }
    assert_true(f->approved);
    assert_true(str_starts(f->host_key, STR("AAAAC3NzaC1lZDI1NTE5")));
    assert_str(read_back(f, "hosts"), "");
}

static void without_a_host_key_nothing_is_contacted(void **state)
{
    Fixture *f = *state;
    SshVerifyRequest request = make_request(f, false);
    open_back(f, "touch visited", 0);
    put_joining(f, &f->key);
    request.trust.count = 0;
    ssh_verifier_approve(f->back, &request, reported, f);
    assert_true(f->reported);
    assert_int_equal(f->err.kind, ERROR_INVALID);
}

static void concurrent_connections_are_limited(void **state)
{
    Fixture *f = *state;
    Fixture others[SSH_VERIFY_MAX] = { 0 };
    SshVerifyRequest request = make_request(f, false);
    put_joining(f, &f->key);
    open_back(f, "exec sleep 1000", 0);
    for (int i = 0; i < SSH_VERIFY_MAX; i++) {
        others[i].world = f->world;
        ssh_verifier_approve(f->back, &request, reported, &others[i]);
    }
    ssh_verifier_approve(f->back, &request, reported, f);
    assert_true(f->reported);
    assert_int_equal(f->err.kind, ERROR_LIMIT);
    world_pass(&f->world, 1);
    /* Pending callers get an error when the server stops. */
    ssh_verifier_free(TAKE(f->back));
    for (int i = 0; i < SSH_VERIFY_MAX; i++) {
        while (!others[i].reported) {
            world_pass(&f->world, 1);
        }
        assert_int_equal(others[i].err.kind, ERROR_UNAVAILABLE);
    }
}

static void an_early_stop_is_reported(void **state)
{
    Fixture *f = *state;
    SshVerifyRequest request = make_request(f, false);
    put_joining(f, &f->key);
    open_back(f, "touch visited", 0);
    ssh_verifier_approve(f->back, &request, reported, f);
    ssh_verifier_free(TAKE(f->back));
    while (!f->reported) {
        world_run(&f->world);
    }
    assert_int_equal(f->err.kind, ERROR_UNAVAILABLE);
    assert_int_not_equal(access(scratch_place(f->scratch, "visited"), F_OK), 0);
}

static void authorized_keys_line_does_not_change(void **state)
{
    Fixture *f = *state;
    Str first, second;
    Error err;
    open_back(f, "", 0);
    assert_true(ssh_verifier_line(f->back, f->arena, false, &first, &err));
    assert_true(ssh_verifier_line(f->back, f->arena, false, &second, &err));
    assert_true(str_eq(first, second));
    assert_true(str_starts(first, STR("restrict,command=\"eden join --answer\" ssh-ed25519 ")));
    assert_true(str_ends(first, STR(" eden@blue")));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(machine_that_answers_with_its_key_is_approved),
        ROW(machine_with_another_key_is_not_approved),
        ROW(machine_that_claims_another_ca_is_not_approved),
        ROW(machine_with_another_name_is_not_approved),
        ROW(machine_without_eden_is_reported),
        ROW(machine_with_unexpected_output_is_not_approved),
        ROW(hanging_ssh_is_killed),
        ROW(machine_with_too_much_output_is_disconnected),
        ROW(without_ssh_the_missing_program_is_named),
        ROW(machines_without_a_request_are_not_contacted),
        ROW(a_concurrent_request_is_not_approved),
        ROW(of_several_requests_the_machine_names_its_own),
        ROW(new_host_key_is_reported),
        ROW(without_a_host_key_nothing_is_contacted),
        ROW(concurrent_connections_are_limited),
        ROW(an_early_stop_is_reported),
        ROW(authorized_keys_line_does_not_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
