/* Verifying a pending machine over SSH: write a known_hosts file, run ssh with `eden join
 * --answer`, read which key the machine itself uses to join, and approve that key if it is the one
 * that requested the name. If several machines request the name, the machine is visited a second
 * time for the key it reported. Each visit has a slot with its own files, which bounds their
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
    SAID_MAX = 16 << 10, /* bytes of each output */
    KNOWN_HOSTS_MAX = 64 << 10
};

typedef struct Visit Visit;

struct SshVerifier {
    SshVerifierSettings settings;
    Visit *visits[SSH_VERIFY_MAX]; /* each has its slot, and a file that belongs to the slot */
};

/* One machine being verified: looked up, visited, approved. */
struct Visit {
    SshVerifier *verifier; /* NULL once freed */
    uint32_t place;
    Arena arena;
    ClusterStore at;
    PendingRecord asking; /* the keys that request the name */
    JoinQuestion question;
    bool is_second; /* the machine has reported which of them is its own */
    SshTarget target;
    SshTrust trust;
    SshKey learned; /* the host key, if it was new */
    ProcessTask *task;
    SshVerifyDone *told;
    void *context;
};

static void visit_end(Visit *visit, const Error *err)
{
    SshVerifyResult done = { .key = visit->question.key,
                             .host_key =
                                 visit->trust.accept_new ? visit->learned : visit->trust.keys[0] };
    if (visit->verifier != NULL) {
        visit->verifier->visits[visit->place] = NULL;
    }
    visit->told(visit->context, err == NULL ? &done : NULL, err);
    arena_clear(&visit->arena);
    free(visit);
}

static bool stopping_error(Error *err)
{
    return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
}

/* --- Files ----------------------------------------------------------------------------------- */

static const char *known_hosts_name(Visit *visit)
{
    return arena_format(&visit->arena, "known_hosts-%u%c", visit->place, '\0').data;
}

static Str comment_of(const SshVerifier *verifier, Arena *arena)
{
    return arena_format(arena, "eden@%" STR_FMT, STR_ARG(verifier->settings.cluster));
}

static bool load_or_create_key(const SshVerifier *verifier, Arena *arena, Str *line, Error *err)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    return directory_open(verifier->settings.directory, &own, err) &&
           ssh_key_ensure(&own, KEY_FILE, comment_of(verifier, arena), arena, line, err);
}

bool ssh_verifier_line(const SshVerifier *verifier, Arena *arena, bool by_sudo, Str *out,
                       Error *err)
{
    Str line;
    if (!load_or_create_key(verifier, arena, &line, err)) {
        return false;
    }
    *out = ssh_authorized_line(arena, line, by_sudo);
    return true;
}

static bool put_known_hosts(Visit *visit, Error *err)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    Str line;
    return load_or_create_key(visit->verifier, &visit->arena, &line, err) &&
           directory_open(visit->verifier->settings.directory, &own, err) &&
           directory_write(&own, known_hosts_name(visit),
                           ssh_trust_known_hosts(&visit->arena, &visit->trust), false, err);
}

/* Reads which key ssh has accepted, and deletes the file. */
static bool take_known_hosts(Visit *visit, Error *err)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    const char *name = known_hosts_name(visit);
    Str text;
    if (!directory_open(visit->verifier->settings.directory, &own, err)) {
        return false;
    }
    bool ok = !visit->trust.accept_new ||
              (directory_read(&own, &visit->arena, name, KNOWN_HOSTS_MAX, &text, err) &&
               ssh_trust_learned(&visit->arena, text, &visit->learned, err));
    Error ignored;
    if (!directory_remove(&own, name, &ignored)) {
        log_warning("cannot remove a file", LOG_C("error", ignored.text));
    }
    return ok;
}

/* --- Approval -------------------------------------------------------------------------------- */

static void approved(void *context, const Error *err)
{
    visit_end(context, err);
}

/* Several machines may request the name. The machine reports which of their keys is its own, and is
 * then visited again for that one. */
static bool has_reported_key(Visit *visit, const JoinAnswer *answer)
{
    if (visit->is_second || answer->result != JOIN_ANSWER_OTHER_KEY ||
        pending_record_find(&visit->asking, &answer->key) == NULL) {
        return false;
    }
    visit->is_second = true;
    visit->question.key = answer->key;
    return true;
}

static bool read_answer(Visit *visit, const ProcessResult *result, bool *again, Error *err)
{
    JoinAnswer answer;
    Error why;
    Arena *arena = &visit->arena;
    if (result->ending == PROCESS_TIMED_OUT) {
        return error_set(err, ERROR_TIMEOUT,
                         "%s did not answer: ssh was killed after %lld s; 'eden join --answer' on "
                         "that machine should exit immediately",
                         visit->target.address.host,
                         (long long)(visit->verifier->settings.limit_ms / 1000));
    }
    if (result->ending != PROCESS_EXITED) {
        return process_failure(arena, result, visit->verifier->settings.limit_ms, err) ||
               error_wrap(err, "ssh to %s", visit->target.address.host);
    }
    /* A machine that refuses sends an answer, too. */
    if (!result->out_cut && join_answer_read(arena, result->out, &answer, &why)) {
        *again = has_reported_key(visit, &answer);
        return *again || join_answer_check(&answer, &visit->question, err);
    }
    if (result->exit_code == 0) {
        return error_set(err, ERROR_CONFLICT,
                         "%s did not send a valid answer of 'eden join --answer': %s",
                         visit->target.address.host, result->out_cut ? "it is too long" : why.text);
    }
    return ssh_explain(arena, &visit->target, &visit->trust, result->exit_code, result->error_out,
                       err);
}

static bool start_visit(Visit *visit, Error *err);

static void visited(void *context, const ProcessResult *result, const Error *err)
{
    Visit *visit = context;
    char pin[PIN_TEXT + 1];
    Error why, other;
    visit->task = NULL;
    bool ok = true, again = false;
    if (result == NULL) {
        why = *err;
        ok = error_wrap(&why, "the server requires ssh (openssh-client)");
    }
    ok = ok && read_answer(visit, result, &again, &why);
    /* In any case: deletes the file. */
    if (!take_known_hosts(visit, &other) && ok) {
        why = other;
        ok = false;
    }
    if (ok && again) {
        ok = start_visit(visit, &why);
        if (ok) {
            return;
        }
    }
    if (!ok) {
        visit_end(visit, &why);
        return;
    }
    pin_text(&visit->question.key, pin);
    nodes_approve(&visit->at, str_from_c(visit->question.node), str_from_c(pin), approved, visit);
}

/* --- Visits ---------------------------------------------------------------------------------- */

/* The server's environment is not passed on: no agent, no askpass program. */
static const char *const environment[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL
};

static bool start_visit(Visit *visit, Error *err)
{
    const SshVerifierSettings *settings = &visit->verifier->settings;
    Arena *arena = &visit->arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED), bundle = buf_make_in(arena, BUF_UNLIMITED);
    CertificateSet cas = settings->cas->trusted;
    for (uint32_t i = 0; i < cas.count; i++) {
        buf_put(&bundle, certificate_pem(arena, &cas.items[i]));
    }
    visit->question.bundle = buf_str(&bundle);
    join_question_print(&visit->question, &text);
    if (!put_known_hosts(visit, err)) {
        return false;
    }
    const SshFiles places = { .program = settings->program,
                              .key = KEY_FILE,
                              .known_hosts = known_hosts_name(visit) };
    const char *const *argv = ssh_target_argv(arena, &visit->target, &visit->trust, &places);
    visit->task = process_task_start(settings->at.loop,
                                     &(ProcessSpec){ .argv = argv,
                                                     .env = environment,
                                                     .input = buf_str(&text),
                                                     .directory = settings->directory,
                                                     .timeout_ms = settings->limit_ms,
                                                     .output_max = SAID_MAX,
                                                     .end_at_max = true },
                                     visited, visit);
    return true;
}

/* Finds the machine to visit. */
static bool look_up(Visit *visit, Error *err)
{
    NodeView view;
    if (!nodes_show(&visit->arena, &visit->at, str_from_c(visit->question.node), &view, err)) {
        return false;
    }
    const PendingEntry *asking = view.node.asking;
    if (asking == NULL) {
        return error_set(err, ERROR_CONFLICT,
                         "'%s' is already a node, and no other machine is pending",
                         visit->question.node);
    }
    if (asking->error.len > 0) {
        return error_set(err, ERROR_INVALID, "%" STR_FMT, STR_ARG(asking->error));
    }
    visit->asking = asking->record;
    visit->question.key = pending_record_first(&visit->asking)->key;
    return true;
}

static bool check_request(const SshVerifier *verifier, const SshVerifyRequest *request,
                          uint32_t *place, Error *err)
{
    *place = 0;
    while (*place < SSH_VERIFY_MAX && verifier->visits[*place] != NULL) {
        ++*place;
    }
    if (*place == SSH_VERIFY_MAX) {
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

static Visit *visit_new(SshVerifier *verifier, const SshVerifyRequest *request, uint32_t place)
{
    Visit *visit = memory_new(sizeof *visit);
    arena_init(&visit->arena, ARENA_UNLIMITED);
    visit->verifier = verifier;
    visit->place = place;
    visit->at = verifier->settings.at;
    visit->target = request->target;
    visit->trust = request->trust;
    for (uint32_t i = 0; i < visit->trust.count; i++) {
        SshKey *key = &visit->trust.keys[i];
        *key = (SshKey){ .type = arena_copy(&visit->arena, key->type),
                         .blob = arena_copy(&visit->arena, key->blob) };
    }
    memcpy(visit->question.node, request->node.data, request->node.len);
    snprintf(visit->question.cluster, sizeof visit->question.cluster, "%" STR_FMT,
             STR_ARG(verifier->settings.cluster));
    verifier->visits[place] = visit;
    return visit;
}

void ssh_verifier_approve(SshVerifier *verifier, const SshVerifyRequest *request,
                          SshVerifyDone *told, void *context)
{
    uint32_t place;
    Error err;
    if (!check_request(verifier, request, &place, &err)) {
        told(context, NULL, &err);
        return;
    }
    Visit *visit = visit_new(verifier, request, place);
    visit->told = told;
    visit->context = context;
    if (!look_up(visit, &err) || !start_visit(visit, &err)) {
        visit_end(visit, &err);
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
        Visit *visit = verifier->visits[i];
        if (visit != NULL && visit->task != NULL) {
            process_task_end(TAKE(visit->task));
            Error ignored;
            if (!take_known_hosts(visit, &ignored)) {
                log_info("ssh killed", LOG_C("error", ignored.text));
            }
            visit_end(visit, &err);
        } else if (visit != NULL) {
            visit->verifier = NULL; /* a store call is pending */
        }
    }
    free(verifier);
}
