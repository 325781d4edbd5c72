#include "membership/ssh_back.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "membership/nodes.h"
#include "pki/join_answer.h"
#include "sys/process_task.h"

#define KEY_FILE "ssh_key"

enum {
    SAID_MAX = 16 << 10, /* bytes that are kept of each output */
    KNOWN_HOSTS_MAX = 64 << 10
};

typedef struct Visit Visit;

struct SshBack {
    SshBackSettings settings;
    Visit *visits[SSH_BACK_MAX]; /* each has its place, and the file that goes with it */
};

/* One machine on its way in: looked up, visited, approved. */
struct Visit {
    SshBack *back; /* NULL: it is gone */
    uint32_t place;
    Arena arena;
    ClusterStore at;
    JoiningRecord asking; /* the keys that ask for the name */
    JoinQuestion question;
    bool is_second; /* the machine has said which of them is its own */
    SshTarget target;
    SshTrust trust;
    SshKey learned; /* the host key, when it was new */
    ProcessTask *task;
    SshBackTold *told;
    void *context;
};

static void visit_end(Visit *visit, const Error *err)
{
    SshBackDone done = { .key = visit->question.key,
                         .host_key =
                             visit->trust.accept_new ? visit->learned : visit->trust.keys[0] };
    if (visit->back != NULL) {
        visit->back->visits[visit->place] = NULL;
    }
    visit->told(visit->context, err == NULL ? &done : NULL, err);
    arena_clear(&visit->arena);
    free(visit);
}

static bool tell_gone(Error *err)
{
    return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
}

/* --- Files ----------------------------------------------------------------------------------- */

static const char *known_hosts_name(Visit *visit)
{
    return arena_format(&visit->arena, "known_hosts-%u%c", visit->place, '\0').data;
}

static Str comment_of(const SshBack *back, Arena *arena)
{
    return arena_format(arena, "eden@%" STR_FMT, STR_ARG(back->settings.cluster));
}

static bool provide_key(const SshBack *back, Arena *arena, Str *line, Error *err)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    return directory_open(back->settings.directory, &own, err) &&
           ssh_key_provide(&own, KEY_FILE, comment_of(back, arena), arena, line, err);
}

bool ssh_back_line(const SshBack *back, Arena *arena, bool by_sudo, Str *out, Error *err)
{
    Str line;
    if (!provide_key(back, arena, &line, err)) {
        return false;
    }
    *out = ssh_authorized_line(arena, line, by_sudo);
    return true;
}

static bool put_known_hosts(Visit *visit, Error *err)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    Str line;
    return provide_key(visit->back, &visit->arena, &line, err) &&
           directory_open(visit->back->settings.directory, &own, err) &&
           directory_write(&own, known_hosts_name(visit),
                           ssh_trust_known_hosts(&visit->arena, &visit->trust), false, err);
}

/* Reads which key ssh has taken, and takes the file away. */
static bool take_known_hosts(Visit *visit, Error *err)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    const char *name = known_hosts_name(visit);
    Str text;
    if (!directory_open(visit->back->settings.directory, &own, err)) {
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

/* --- Approving ------------------------------------------------------------------------------- */

static void approved(void *context, const Error *err)
{
    visit_end(context, err);
}

/* Several machines may ask for the name. Which of their keys is this one's it says itself, and is then
 * asked by that one. */
static bool asks_with_another(Visit *visit, const JoinAnswer *answer)
{
    if (visit->is_second || answer->result != JOIN_ANSWER_OTHER_KEY ||
        joining_record_find(&visit->asking, &answer->key) == NULL) {
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
                         (long long)(visit->back->settings.limit_ms / 1000));
    }
    if (result->ending != PROCESS_EXITED) {
        return process_failure(arena, result, visit->back->settings.limit_ms, err) ||
               error_wrap(err, "ssh to %s", visit->target.address.host);
    }
    /* Also a machine that refuses says so in an answer. */
    if (!result->out_cut && join_answer_read(arena, result->out, &answer, &why)) {
        *again = asks_with_another(visit, &answer);
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
    /* Either way: the file goes. */
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

/* --- Visiting -------------------------------------------------------------------------------- */

/* Of the environment of the server nothing is passed on: no agent, no program that asks. */
static const char *const environment[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL
};

static bool start_visit(Visit *visit, Error *err)
{
    const SshBackSettings *settings = &visit->back->settings;
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
    const SshPlaces places = { .program = settings->program,
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

/* Finds who is to be asked. */
static bool look_up(Visit *visit, Error *err)
{
    NodeView view;
    if (!nodes_show(&visit->arena, &visit->at, str_from_c(visit->question.node), &view, err)) {
        return false;
    }
    const JoiningEntry *asking = view.node.asking;
    if (asking == NULL) {
        return error_set(err, ERROR_CONFLICT,
                         "'%s' is already a node, and no other machine is pending",
                         visit->question.node);
    }
    if (asking->error.len > 0) {
        return error_set(err, ERROR_INVALID, "%" STR_FMT, STR_ARG(asking->error));
    }
    visit->asking = asking->record;
    visit->question.key = joining_record_first(&visit->asking)->key;
    return true;
}

static bool check_wish(const SshBack *back, const SshBackWish *wish, uint32_t *place, Error *err)
{
    *place = 0;
    while (*place < SSH_BACK_MAX && back->visits[*place] != NULL) {
        ++*place;
    }
    if (*place == SSH_BACK_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "%d SSH connections to machines are already open; try again later",
                         SSH_BACK_MAX);
    }
    if ((wish->trust.count == 0) != wish->trust.accept_new) {
        return error_set(err, ERROR_INVALID,
                         "give the host key of the machine, or accept a new one");
    }
    return node_name_check(wish->node, err);
}

static Visit *make_visit(SshBack *back, const SshBackWish *wish, uint32_t place)
{
    Visit *visit = memory_new(sizeof *visit);
    arena_init(&visit->arena, ARENA_UNLIMITED);
    visit->back = back;
    visit->place = place;
    visit->at = back->settings.at;
    visit->target = wish->target;
    visit->trust = wish->trust;
    for (uint32_t i = 0; i < visit->trust.count; i++) {
        SshKey *key = &visit->trust.keys[i];
        *key = (SshKey){ .type = arena_copy(&visit->arena, key->type),
                         .blob = arena_copy(&visit->arena, key->blob) };
    }
    memcpy(visit->question.node, wish->node.data, wish->node.len);
    snprintf(visit->question.cluster, sizeof visit->question.cluster, "%" STR_FMT,
             STR_ARG(back->settings.cluster));
    back->visits[place] = visit;
    return visit;
}

void ssh_back_approve(SshBack *back, const SshBackWish *wish, SshBackTold *told, void *context)
{
    uint32_t place;
    Error err;
    if (!check_wish(back, wish, &place, &err)) {
        told(context, NULL, &err);
        return;
    }
    Visit *visit = make_visit(back, wish, place);
    visit->told = told;
    visit->context = context;
    if (!look_up(visit, &err) || !start_visit(visit, &err)) {
        visit_end(visit, &err);
    }
}

/* --- Life ------------------------------------------------------------------------------------ */

SshBack *ssh_back_new(const SshBackSettings *settings)
{
    SshBack *back = memory_new(sizeof *back);
    back->settings = *settings;
    if (back->settings.limit_ms == 0) {
        back->settings.limit_ms = SSH_BACK_LIMIT_MS;
    }
    if (back->settings.program == NULL) {
        back->settings.program = "ssh";
    }
    return back;
}

void ssh_back_free(SshBack *back)
{
    if (back == NULL) {
        return;
    }
    Error err;
    tell_gone(&err);
    for (uint32_t i = 0; i < SSH_BACK_MAX; i++) {
        Visit *visit = back->visits[i];
        if (visit != NULL && visit->task != NULL) {
            process_task_end(TAKE(visit->task));
            Error ignored;
            if (!take_known_hosts(visit, &ignored)) {
                log_info("ssh killed", LOG_C("error", ignored.text));
            }
            visit_end(visit, &err);
        } else if (visit != NULL) {
            visit->back = NULL; /* the store has still to tell it something */
        }
    }
    free(back);
}
