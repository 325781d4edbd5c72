/* Verifying a pending machine over SSH: write a known_hosts file, run ssh with `eden join
 * --answer`, read which key the machine itself uses to join, and approve that key if it is the one
 * that requested the name. If several machines request the name, the machine is contacted a second
 * time for the key it reported. Each verification has a slot with its own files, which bounds their
 * number. */
#include "membership/ssh_verifier.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "membership/nodes.h"
#include "pki/join_answer.h"
#include "sys/process_task.h"

#define KEY_FILE "ssh_key"

enum {
    OUTPUT_MAX = 16 << 10, /* maximum size of each output */
    KNOWN_HOSTS_MAX = 64 << 10
};

typedef struct Verification Verification;

struct SshVerifier {
    SshVerifierSettings settings;
    Verification
        *verifications[SSH_VERIFY_MAX]; /* each has its slot, and a file that belongs to the slot */
};

/* The verification of one machine: resolve its name, run ssh, approve its key. */
struct Verification {
    SshVerifier *verifier; /* NULL once the verifier is freed */
    uint32_t slot;
    Arena arena;
    ClusterStore cluster_store;
    PendingRecord pending; /* the keys that request the name */
    JoinQuestion question;
    bool is_second; /* the machine has reported which of them is its own */
    SshTarget target;
    SshTrust trust;
    SshKey found_key; /* the host key, if it was not known before */
    ProcessTask *task;
    SshVerifyDone *done_function;
    void *context;
};

static void verification_end(Verification *verification, const Error *err)
{
    SshVerifyResult done = { .key = verification->question.key,
                             .host_key = verification->trust.accept_new
                                             ? verification->found_key
                                             : verification->trust.keys[0] };
    if (verification->verifier != NULL) {
        verification->verifier->verifications[verification->slot] = NULL;
    }
    verification->done_function(verification->context, err == NULL ? &done : NULL, err);
    arena_clear(&verification->arena);
    free(verification);
}

static bool stopping_error(Error *err)
{
    return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
}

/* --- Files ----------------------------------------------------------------------------------- */

static const char *known_hosts_name(Verification *verification)
{
    return arena_format(&verification->arena, "known_hosts-%u%c", verification->slot, '\0').data;
}

static Str comment_of(const SshVerifier *verifier, Arena *arena)
{
    return arena_format(arena, "eden@%" STR_FMT, STR_ARG(verifier->settings.cluster));
}

static bool load_or_create_key(const SshVerifier *verifier, Arena *arena, Str *line, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    return directory_open(verifier->settings.directory, &directory, err) &&
           ssh_key_ensure(&directory, KEY_FILE, comment_of(verifier, arena), arena, line, err);
}

bool ssh_verifier_line(const SshVerifier *verifier, Arena *arena, bool use_sudo, Str *out,
                       Error *err)
{
    Str line;
    if (!load_or_create_key(verifier, arena, &line, err)) {
        return false;
    }
    *out = ssh_authorized_line(arena, line, use_sudo);
    return true;
}

static bool put_known_hosts(Verification *verification, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Str line;
    return load_or_create_key(verification->verifier, &verification->arena, &line, err) &&
           directory_open(verification->verifier->settings.directory, &directory, err) &&
           directory_write(&directory, known_hosts_name(verification),
                           ssh_trust_known_hosts(&verification->arena, &verification->trust), false,
                           err);
}

/* Reads the key that ssh has accepted, and deletes the file. */
static bool read_known_hosts(Verification *verification, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    const char *name = known_hosts_name(verification);
    Str text;
    if (!directory_open(verification->verifier->settings.directory, &directory, err)) {
        return false;
    }
    bool ok =
        !verification->trust.accept_new ||
        (directory_read(&directory, &verification->arena, name, KNOWN_HOSTS_MAX, &text, err) &&
         ssh_trust_found(&verification->arena, text, &verification->found_key, err));
    Error ignored;
    if (!directory_remove(&directory, name, &ignored)) {
        log_warning("cannot remove a file", LOG_C("error", ignored.text));
    }
    return ok;
}

/* --- Approval -------------------------------------------------------------------------------- */

static void approved(void *context, const Error *err)
{
    verification_end(context, err);
}

/* Several machines may request the name. The machine reports which of their keys is its own, and is
 * then contacted again for that key. */
static bool has_reported_key(Verification *verification, const JoinAnswer *answer)
{
    if (verification->is_second || answer->result != JOIN_ANSWER_OTHER_KEY ||
        pending_record_find(&verification->pending, &answer->key) == NULL) {
        return false;
    }
    verification->is_second = true;
    verification->question.key = answer->key;
    return true;
}

static bool read_answer(Verification *verification, const ProcessResult *result, bool *again,
                        Error *err)
{
    JoinAnswer answer;
    Error why;
    Arena *arena = &verification->arena;
    if (result->ending == PROCESS_TIMED_OUT) {
        return error_set(err, ERROR_TIMEOUT,
                         "%s did not respond: ssh was killed after %lld s; 'eden join --answer' "
                         "on that machine should exit immediately",
                         verification->target.address.host,
                         (long long)(verification->verifier->settings.limit_ms / 1000));
    }
    if (result->ending != PROCESS_EXITED) {
        return process_failure(arena, result, verification->verifier->settings.limit_ms, err) ||
               error_wrap(err, "ssh to %s", verification->target.address.host);
    }
    /* A machine that rejects the query also sends a response. */
    if (!result->out_truncated && join_answer_read(arena, result->out, &answer, &why)) {
        *again = has_reported_key(verification, &answer);
        return *again || join_answer_check(&answer, &verification->question, err);
    }
    if (result->exit_code == 0) {
        return error_set(
            err, ERROR_CONFLICT, "%s did not send a valid response from 'eden join --answer': %s",
            verification->target.address.host, result->out_truncated ? "it is too long" : why.text);
    }
    return ssh_explain(arena, &verification->target, &verification->trust, result->exit_code,
                       result->error_out, err);
}

static bool start_verification(Verification *verification, Error *err);

static void verified(void *context, const ProcessResult *result, const Error *err)
{
    Verification *verification = context;
    char pin[PIN_TEXT + 1];
    Error why, other;
    verification->task = NULL;
    bool ok = true, again = false;
    if (result == NULL) {
        why = *err;
        ok = error_wrap(&why, "the server requires ssh (openssh-client)");
    }
    ok = ok && read_answer(verification, result, &again, &why);
    /* Always deletes the file. */
    if (!read_known_hosts(verification, &other) && ok) {
        why = other;
        ok = false;
    }
    if (ok && again) {
        ok = start_verification(verification, &why);
        if (ok) {
            return;
        }
    }
    if (!ok) {
        verification_end(verification, &why);
        return;
    }
    pin_text(&verification->question.key, pin);
    nodes_approve(&verification->cluster_store, str_from_c(verification->question.node),
                  str_from_c(pin), approved, verification);
}

/* --- Verification ---------------------------------------------------------------------------- */

/* The server's environment is not passed on: no agent, no askpass program. */
static const char *const environment[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL
};

static bool start_verification(Verification *verification, Error *err)
{
    const SshVerifierSettings *settings = &verification->verifier->settings;
    Arena *arena = &verification->arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED), bundle = buf_make_in(arena, BUF_UNLIMITED);
    CertificateSet cas = settings->cas->trusted;
    for (uint32_t i = 0; i < cas.count; i++) {
        buf_put(&bundle, certificate_pem(arena, &cas.items[i]));
    }
    verification->question.bundle = buf_str(&bundle);
    join_question_print(&verification->question, &text);
    if (!put_known_hosts(verification, err)) {
        return false;
    }
    const SshFiles files = { .program = settings->program,
                             .key = KEY_FILE,
                             .known_hosts = known_hosts_name(verification) };
    const char *const *argv =
        ssh_target_argv(arena, &verification->target, &verification->trust, &files);
    verification->task = process_task_start(settings->cluster_store.loop,
                                            &(ProcessSpec){ .argv = argv,
                                                            .env = environment,
                                                            .input = buf_str(&text),
                                                            .directory = settings->directory,
                                                            .timeout_ms = settings->limit_ms,
                                                            .output_max = OUTPUT_MAX,
                                                            .kill_at_max = true },
                                            verified, verification);
    return true;
}

/* Finds the machine that requests the name. */
static bool resolve_name(Verification *verification, Error *err)
{
    NodeView view;
    if (!nodes_show(&verification->arena, &verification->cluster_store,
                    str_from_c(verification->question.node), &view, err)) {
        return false;
    }
    const PendingEntry *pending = view.node.pending;
    if (pending == NULL) {
        return error_set(err, ERROR_CONFLICT,
                         "'%s' is already a node, and no other machine is pending",
                         verification->question.node);
    }
    if (pending->error.len > 0) {
        return error_set(err, ERROR_INVALID, "%" STR_FMT, STR_ARG(pending->error));
    }
    verification->pending = pending->record;
    verification->question.key = pending_record_first(&verification->pending)->key;
    return true;
}

static bool check_request(const SshVerifier *verifier, const SshVerifyRequest *request,
                          uint32_t *slot, Error *err)
{
    *slot = 0;
    while (*slot < SSH_VERIFY_MAX && verifier->verifications[*slot] != NULL) {
        ++*slot;
    }
    if (*slot == SSH_VERIFY_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "%d SSH connections to machines are already open; try again later",
                         SSH_VERIFY_MAX);
    }
    if ((request->trust.count == 0) != request->trust.accept_new) {
        return error_set(err, ERROR_INVALID,
                         "specify the host key of the machine, or accept a new one");
    }
    return node_name_check(request->node, err);
}

static Verification *verification_new(SshVerifier *verifier, const SshVerifyRequest *request,
                                      uint32_t slot)
{
    Verification *verification = memory_new(sizeof *verification);
    arena_init(&verification->arena, ARENA_UNLIMITED);
    verification->verifier = verifier;
    verification->slot = slot;
    verification->cluster_store = verifier->settings.cluster_store;
    verification->target = request->target;
    verification->trust = request->trust;
    for (uint32_t i = 0; i < verification->trust.count; i++) {
        SshKey *key = &verification->trust.keys[i];
        *key = (SshKey){ .type = arena_copy(&verification->arena, key->type),
                         .blob = arena_copy(&verification->arena, key->blob) };
    }
    memcpy(verification->question.node, request->node.data, request->node.len);
    snprintf(verification->question.cluster, sizeof verification->question.cluster, "%" STR_FMT,
             STR_ARG(verifier->settings.cluster));
    verifier->verifications[slot] = verification;
    return verification;
}

void ssh_verifier_approve(SshVerifier *verifier, const SshVerifyRequest *request,
                          SshVerifyDone *done_function, void *context)
{
    uint32_t slot;
    Error err;
    if (!check_request(verifier, request, &slot, &err)) {
        done_function(context, NULL, &err);
        return;
    }
    Verification *verification = verification_new(verifier, request, slot);
    verification->done_function = done_function;
    verification->context = context;
    if (!resolve_name(verification, &err) || !start_verification(verification, &err)) {
        verification_end(verification, &err);
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

SshVerifier *ssh_verifier_new(const SshVerifierSettings *settings)
{
    SshVerifier *verifier = memory_new(sizeof *verifier);
    verifier->settings = *settings;
    if (verifier->settings.limit_ms == 0) {
        verifier->settings.limit_ms = SSH_VERIFY_LIMIT_MS;
    }
    if (verifier->settings.program == NULL) {
        verifier->settings.program = "ssh";
    }
    return verifier;
}

void ssh_verifier_free(SshVerifier *verifier)
{
    if (verifier == NULL) {
        return;
    }
    Error err;
    stopping_error(&err);
    for (uint32_t i = 0; i < SSH_VERIFY_MAX; i++) {
        Verification *verification = verifier->verifications[i];
        if (verification != NULL && verification->task != NULL) {
            process_task_end(TAKE(verification->task));
            Error ignored;
            if (!read_known_hosts(verification, &ignored)) {
                log_info("ssh killed", LOG_C("error", ignored.text));
            }
            verification_end(verification, &err);
        } else if (verification != NULL) {
            verification->verifier = NULL; /* a store call is pending */
        }
    }
    free(verifier);
}
