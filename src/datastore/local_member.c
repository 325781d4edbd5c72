#include "datastore/local_member.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sm.h"
#include "datastore/certificate.h"
#include "datastore/etcd_command.h"
#include "datastore/etcd_process.h"
#include "datastore/member_link.h"
#include "rpc/backoff.h"
#include "sys/file_tree.h"
#include "sys/process_task.h"

#define DATA_DIRECTORY    "data"
#define WAL_DIRECTORY     DATA_DIRECTORY "/member/wal"
#define REMOVED_DIRECTORY "removed"
#define STATUS_PATH       "/etcdserverpb.Maintenance/Status"

enum {
    CALL_MS = 3000,
    VERSION_TIMEOUT_MS = 30 * 1000,
    VERSION_CACHE_MS = 60 * 1000, /* how long a detected version is cached */
    VERSION_BYTES = 4096,
    DATA_DEPTH_MAX = 16,
    PATH_SIZE = 320,
};

struct LocalMember {
    LocalMemberOptions options;
    Sm sm;
    Directory directory;
    EtcdProcess *process;
    LoopTimer timer;       /* next check or poll */
    bool is_confirmed;     /* the marker matches the status of the running member */
    bool is_check_pending; /* local_member_wake() was called during a check */
    uint32_t failures;
    int64_t started_ms;
    MemberLink *own_link;
    bool has_marker;
    Marker marker;
    /* State of a check. */
    Arena arena;
    ProcessTask *version_task;
    ProcessSpec version_spec;
    const char *version_argv[3];
    char version[ETCD_VERSION_MAX + 1]; /* empty: unknown */
    int64_t version_ms;
    Address endpoints[ETCD_ENDPOINTS_MAX];
    uint32_t endpoint_count, endpoint_index;
    MemberLink *link; /* to the current endpoint */
    LoopTask query_task;
    bool has_members;
    EtcdMembers members;
    uint64_t cluster_id;
    bool needs_operator;
    char why[sizeof(((Error *)NULL)->text)];
};

static const SmState states[] = {
    [LOCAL_CHECKING] = { "checking", SM_TO(LOCAL_CHECKING) | SM_TO(LOCAL_WAITING) |
                                         SM_TO(LOCAL_RUNNING) | SM_TO(LOCAL_STOPPING) |
                                         SM_TO(LOCAL_STOPPED) },
    [LOCAL_WAITING] = { "waiting",
                        SM_TO(LOCAL_CHECKING) | SM_TO(LOCAL_STOPPING) | SM_TO(LOCAL_STOPPED) },
    [LOCAL_RUNNING] = { "running", SM_TO(LOCAL_WAITING) | SM_TO(LOCAL_STOPPING) },
    [LOCAL_STOPPING] = { "stopping", SM_TO(LOCAL_STOPPED) },
    [LOCAL_STOPPED] = { "stopped", 0 },
};
static const SmTable table = { "local member", states, COUNT_OF(states), NULL };

static LocalState state_of(const LocalMember *member)
{
    return (LocalState)member->sm.state;
}

static void notify_change(const LocalMember *member)
{
    if (member->options.changed != NULL) {
        member->options.changed(member->options.context);
    }
}

static void move(LocalMember *member, LocalState state)
{
    sm_move(&member->sm, state);
    notify_change(member);
}

static void set_why(LocalMember *member, const char *why)
{
    if (strcmp(member->why, why) != 0) {
        snprintf(member->why, sizeof member->why, "%s", why);
        if (why[0] != '\0') {
            log_info("etcd is not running on this server", LOG_C("reason", why));
        }
    }
}

/* --- Files ----------------------------------------------------------------------------------- */

static bool write_marker(LocalMember *member, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    marker_print(&member->marker, &text);
    member->has_marker = true;
    return directory_write(&member->directory, MARKER_FILE, buf_str(&text), true, err) &&
           directory_share(&member->directory, MARKER_FILE, err);
}

static bool remove_marker(LocalMember *member, Error *err)
{
    if (!directory_remove(&member->directory, MARKER_FILE, err)) {
        return false;
    }
    directory_sync(&member->directory);
    member->has_marker = false;
    return true;
}

static bool load_marker(LocalMember *member, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text;
    member->has_marker = directory_has(&member->directory, MARKER_FILE);
    if (member->has_marker &&
        (!directory_read(&member->directory, &arena, MARKER_FILE, MARKER_MAX, &text, err) ||
         !marker_read(&arena, text, &member->marker, err))) {
        return error_wrap(err, "%s/" MARKER_FILE, member->directory.path);
    }
    return true;
}

/* A directory that cannot be listed is assumed to contain files. */
static bool has_files(const LocalMember *member, const char *directory)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const FileTreeLimits limits = { .entries_max = 1, .depth_max = DATA_DEPTH_MAX };
    char path[PATH_SIZE];
    FileTree tree = { 0 };
    Error err;
    snprintf(path, sizeof path, "%s/%s", member->directory.path, directory);
    return file_tree_list(&arena, path, &limits, &tree, &err) ? tree.count > 0
                                                              : err.kind != ERROR_NOT_FOUND;
}

static bool make_data_directory(const LocalMember *member, Error *err)
{
    AUTO_CLEAR(Directory) data = { .descriptor = -1 };
    const LocalMemberOptions *options = &member->options;
    return directory_make_child(&member->directory, DATA_DIRECTORY, &data, err) &&
           directory_set_mode(&data, 0700, err) &&
           (!options->as_user || directory_give(&data, options->uid, options->gid, err));
}

/* The marker is written first, so that the data is not used again even if archiving is
 * interrupted. */
static bool archive(LocalMember *member, Error *err)
{
    member->marker.state = MARKER_REMOVED;
    if (!write_marker(member, err)) {
        return false;
    }
    log_warning("this server's member of the datastore was removed; its data is kept",
                LOG_C("directory", REMOVED_DIRECTORY), LOG_C("member", member->marker.member_id));
    directory_remove_child(&member->directory, REMOVED_DIRECTORY);
    return directory_move(&member->directory, DATA_DIRECTORY, &member->directory, REMOVED_DIRECTORY,
                          err) &&
           remove_marker(member, err);
}

/* --- Waiting --------------------------------------------------------------------------------- */

static void wait_for(LocalMember *member, const char *why, int64_t delay_ms)
{
    set_why(member, why);
    move(member, LOCAL_WAITING);
    loop_timer_start(&member->timer, member->is_check_pending ? 0 : delay_ms);
    member->is_check_pending = false;
}

static void wait_after_failure(LocalMember *member, const char *why)
{
    const LocalMemberOptions *options = &member->options;
    member->failures++;
    wait_for(member, why,
             options->retry_ms + backoff_ms(member->failures, loop_random(options->loop)));
}

/* --- Running --------------------------------------------------------------------------------- */

static void poll_later(LocalMember *member)
{
    loop_timer_start(&member->timer, LOCAL_POLL_MS);
}

/* Updates the marker from the member's status; the next start relies on it. */
static void confirm(LocalMember *member, const EtcdHeader *header, const char *version)
{
    char cluster_id[ETCD_ID_TEXT + 1], member_id[ETCD_ID_TEXT + 1];
    Marker *marker = &member->marker;
    Error err;
    marker_id(header->cluster_id, cluster_id);
    marker_id(header->member_id, member_id);
    bool is_same =
        strcmp(marker->cluster_id, cluster_id) == 0 && strcmp(marker->member_id, member_id) == 0;
    if (marker->state != MARKER_CREATING && !is_same) {
        log_error("etcd is running as a different member than its data directory records",
                  LOG_C("member", member_id), LOG_C("expected", marker->member_id));
        poll_later(member);
        return;
    }
    marker->state = MARKER_MEMBER;
    strcpy(marker->cluster_id, cluster_id);
    strcpy(marker->member_id, member_id);
    snprintf(marker->version, sizeof marker->version, "%s", version);
    if (!write_marker(member, &err)) {
        log_warning("cannot write the datastore's marker file", LOG_C("error", err.text));
        poll_later(member);
        return;
    }
    member->is_confirmed = true;
    log_info("etcd is running", LOG_C("member", member_id), LOG_C("version", version));
    notify_change(member);
}

static void own_status_received(void *context, Str response, const Error *err)
{
    LocalMember *member = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdHeader header;
    EtcdMemberStatus status;
    Error invalid;
    if (state_of(member) != LOCAL_RUNNING) {
        return;
    }
    if (err == NULL && etcd_status_decode(&arena, response, &header, &status, &invalid)) {
        confirm(member, &header, status.version);
    } else {
        poll_later(member);
    }
}

static void poll_member(LocalMember *member)
{
    member_link_free(member->own_link);
    member->own_link =
        member_link_new(member->options.loop, &member->options.client, member->options.tls);
    member_link_call(member->own_link, STATUS_PATH, STR_EMPTY, CALL_MS, own_status_received,
                     member);
}

static void enter_running(LocalMember *member)
{
    member->started_ms = loop_now_ms(member->options.loop);
    member->is_confirmed = false;
    member->needs_operator = false;
    set_why(member, "");
    move(member, LOCAL_RUNNING);
    loop_timer_start(&member->timer, 0);
}

static void process_ended(void *context, const char *why)
{
    LocalMember *member = context;
    member->version[0] = '\0'; /* a different version may be installed now */
    if (state_of(member) != LOCAL_RUNNING && state_of(member) != LOCAL_STOPPING) {
        local_member_wake(member); /* it was found by a check whose marker could not be read */
        return;
    }
    loop_timer_stop(&member->timer);
    if (state_of(member) == LOCAL_STOPPING) {
        log_info("etcd stopped", LOG_C("reason", why));
        move(member, LOCAL_STOPPED);
        return;
    }
    if (loop_now_ms(member->options.loop) - member->started_ms >= LOCAL_STABLE_MS) {
        member->failures = 0;
    }
    wait_after_failure(member, why);
}

/* --- Starting -------------------------------------------------------------------------------- */

static bool start(LocalMember *member, const StartStep *step, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const LocalMemberOptions *options = &member->options;
    const char *path = options->path;
    const char *certificates = options->certificates == NULL ? path : options->certificates;
    EtcdCommand command = {
        .data_dir = arena_copy_c(&arena, arena_format(&arena, "%s/" DATA_DIRECTORY, path)),
        .credential =
            arena_copy_c(&arena, arena_format(&arena, "%s/" DATASTORE_CREDENTIAL, certificates)),
        .ca = arena_copy_c(&arena, arena_format(&arena, "%s/" DATASTORE_CA, certificates)),
        .node = options->node,
        .client = options->client,
        .peer = options->peer,
        .token = options->token,
        .is_new_cluster = step->action == START_CREATE,
        .members = step->action == START_JOIN ? &member->members : NULL,
        .own_id = step->member,
        .quota_bytes = options->quota_bytes,
        .heartbeat_ms = options->heartbeat_ms,
        .election_ms = options->election_ms,
    };
    return make_data_directory(member, err) &&
           etcd_process_start(member->process, etcd_command_arguments(&arena, &command),
                              etcd_command_environment(), err);
}

/* Records the owner of the data before there is any data. */
static bool prepare_marker(LocalMember *member, const StartStep *step, Error *err)
{
    Marker *marker = &member->marker;
    if (step->action == START_EXISTING && strcmp(marker->version, member->version) == 0) {
        return true;
    }
    if (step->action != START_EXISTING) {
        *marker =
            (Marker){ .state = step->action == START_JOIN ? MARKER_JOINING : MARKER_CREATING };
        snprintf(marker->node, sizeof marker->node, "%" STR_FMT, STR_ARG(member->options.node));
    }
    if (step->action == START_JOIN) {
        marker_id(member->cluster_id, marker->cluster_id);
        marker_id(step->member, marker->member_id);
    }
    strcpy(marker->version, member->version);
    return write_marker(member, err);
}

static void check(LocalMember *member);

static void execute_step(LocalMember *member, const StartStep *step)
{
    Error err;
    member->needs_operator = step->action == START_REFUSE;
    switch (step->action) {
    case START_WAIT: wait_for(member, step->why, member->options.retry_ms); break;
    case START_REFUSE: wait_for(member, step->why, LOCAL_REFUSED_MS); break;
    case START_CREATE:
    case START_JOIN:
    case START_EXISTING:
        if (prepare_marker(member, step, &err) && start(member, step, &err)) {
            enter_running(member);
        } else {
            wait_after_failure(member, err.text);
        }
        break;
    case START_ARCHIVE:
    case START_REMOVE_MARKER:
        if (step->action == START_ARCHIVE ? archive(member, &err) : remove_marker(member, &err)) {
            check(member);
        } else {
            wait_after_failure(member, err.text);
        }
        break;
    }
}

static void decide(LocalMember *member)
{
    const LocalMemberOptions *options = &member->options;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StartView view = { .node = options->node,
                       .peer_url = etcd_url(&arena, &options->peer),
                       .version = str_from_c(member->version),
                       .is_new_cluster = options->is_new_cluster,
                       .has_data = has_files(member, DATA_DIRECTORY),
                       .has_wal = has_files(member, WAL_DIRECTORY),
                       .marker = member->has_marker ? &member->marker : NULL,
                       .members = member->has_members ? &member->members : NULL,
                       .cluster_id = member->cluster_id };
    StartStep step;
    start_plan(&view, &step);
    execute_step(member, &step);
}

/* --- Checking -------------------------------------------------------------------------------- */

static void try_next_endpoint(LocalMember *member)
{
    member->endpoint_index++;
    loop_defer(member->options.loop, &member->query_task);
}

static void members_received(void *context, Str response, const Error *err)
{
    LocalMember *member = context;
    EtcdHeader header;
    Error invalid;
    member->has_members = err == NULL && etcd_members_decode(&member->arena, response, &header,
                                                             &member->members, &invalid);
    if (member->has_members) {
        member->cluster_id = header.cluster_id;
        decide(member);
    } else {
        try_next_endpoint(member);
    }
}

/* The probe is a linearizable read. Only a member that is connected to a majority answers it; the
 * member list of another one may be outdated and lack this server's member. */
static void probe_answered(void *context, Str response, const Error *err)
{
    LocalMember *member = context;
    if (err == NULL) {
        member_link_call(member->link, "/etcdserverpb.Cluster/MemberList", STR_EMPTY, CALL_MS,
                         members_received, member);
    } else {
        try_next_endpoint(member);
    }
}

static void query_endpoint(void *context)
{
    LocalMember *member = context;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    member_link_free(TAKE(member->link));
    if (member->endpoint_index >= member->endpoint_count) {
        decide(member);
        return;
    }
    member->link = member_link_new(member->options.loop, &member->endpoints[member->endpoint_index],
                                   member->options.tls);
    etcd_probe_encode(&request);
    member_link_call(member->link, "/etcdserverpb.KV/Range", buf_str(&request), CALL_MS,
                     probe_answered, member);
}

static void query_endpoints(LocalMember *member)
{
    member->has_members = false;
    member->endpoint_index = 0;
    member->endpoint_count = member->options.endpoints(member->options.context, member->endpoints);
    BUG_IF(member->endpoint_count > ETCD_ENDPOINTS_MAX);
    query_endpoint(member);
}

static void version_received(void *context, const ProcessResult *result, const Error *err)
{
    LocalMember *member = context;
    Error invalid;
    member->version_task = NULL;
    if (err == NULL && !etcd_version_parse(result->out, member->version, &invalid)) {
        err = &invalid;
    }
    if (err != NULL) {
        member->needs_operator = true;
        wait_for(member, err->text, LOCAL_REFUSED_MS);
        return;
    }
    member->version_ms = loop_now_ms(member->options.loop);
    query_endpoints(member);
}

static void check(LocalMember *member)
{
    Error err;
    move(member, LOCAL_CHECKING);
    arena_reset(&member->arena);
    if (!load_marker(member, &err)) {
        member->needs_operator = true;
        wait_for(member, err.text, LOCAL_REFUSED_MS);
        return;
    }
    if (etcd_process_find(member->process)) {
        enter_running(member);
        return;
    }
    if (member->version[0] != '\0' &&
        loop_now_ms(member->options.loop) - member->version_ms < VERSION_CACHE_MS) {
        query_endpoints(member);
        return;
    }
    member->version[0] = '\0';
    member->version_argv[0] = member->options.program;
    member->version_argv[1] = "--version";
    member->version_spec = (ProcessSpec){ .argv = member->version_argv,
                                          .env = etcd_command_environment(),
                                          .as_user = member->options.as_user,
                                          .uid = member->options.uid,
                                          .gid = member->options.gid,
                                          .timeout_ms = VERSION_TIMEOUT_MS,
                                          .output_max = VERSION_BYTES };
    member->version_task =
        process_task_start(member->options.loop, &member->version_spec, version_received, member);
}

static void timer_expired(void *context)
{
    LocalMember *member = context;
    if (state_of(member) == LOCAL_RUNNING) {
        poll_member(member);
    } else {
        check(member);
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

bool local_member_new(const LocalMemberOptions *options, LocalMember **out, Error *err)
{
    Directory directory;
    if (!directory_make(options->path, &directory, err)) {
        return false;
    }
    /* etcd must be able to access its data, and the server the marker; other files are private. */
    if (!directory_set_mode(&directory, 0711, err)) {
        directory_close(&directory);
        return false;
    }
    LocalMember *member = memory_new(sizeof *member);
    member->options = *options;
    member->options.retry_ms = options->retry_ms == 0 ? LOCAL_RETRY_MS : options->retry_ms;
    member->directory = directory;
    arena_init(&member->arena, ARENA_UNLIMITED);
    sm_init(&member->sm, &table, member, "local member", LOCAL_WAITING);
    loop_timer_init(&member->timer, options->loop, timer_expired, member);
    loop_task_init(&member->query_task, query_endpoint, member);
    member->process = etcd_process_new(&(EtcdProcessOptions){ .loop = options->loop,
                                                              .directory = &member->directory,
                                                              .program = options->program,
                                                              .as_user = options->as_user,
                                                              .uid = options->uid,
                                                              .gid = options->gid,
                                                              .limits = options->limits,
                                                              .ended = process_ended,
                                                              .context = member });
    loop_timer_start(&member->timer, 0);
    *out = member;
    return true;
}

static void stop_checks(LocalMember *member)
{
    loop_timer_stop(&member->timer);
    loop_task_stop(member->options.loop, &member->query_task);
    process_task_end(TAKE(member->version_task));
    member_link_free(TAKE(member->link));
    member_link_free(TAKE(member->own_link));
}

void local_member_free(LocalMember *member)
{
    if (member == NULL) {
        return;
    }
    stop_checks(member);
    etcd_process_free(member->process);
    directory_close(&member->directory);
    arena_clear(&member->arena);
    free(member);
}

void local_member_wake(LocalMember *member)
{
    if (state_of(member) == LOCAL_WAITING) {
        loop_timer_start(&member->timer, 0);
    } else if (state_of(member) == LOCAL_CHECKING) {
        member->is_check_pending = true;
    }
}

void local_member_stop(LocalMember *member)
{
    if (state_of(member) == LOCAL_STOPPING || state_of(member) == LOCAL_STOPPED) {
        return;
    }
    stop_checks(member);
    if (etcd_process_pid(member->process) != 0) {
        move(member, LOCAL_STOPPING);
        etcd_process_stop(member->process);
    } else {
        move(member, LOCAL_STOPPED);
    }
}

LocalMemberStatus local_member_status(const LocalMember *member)
{
    uint64_t data_member_id = 0;
    if (member->has_marker && member->marker.state != MARKER_REMOVED) {
        data_member_id = strtoull(member->marker.member_id, NULL, 16);
    }
    return (LocalMemberStatus){ .state = state_of(member),
                                .pid = etcd_process_pid(member->process),
                                .data_member_id = data_member_id,
                                .why = member->why,
                                .needs_operator = member->needs_operator };
}
