#include "agent/datastore_supervisor.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "base/log.h"
#include "base/memory.h"
#include "datastore/member_settings.h"
#include "datastore/server_member.h"
#include "sys/file.h"

#define SERVER_DIRECTORY "server" /* in the state directory; same as in server/create_cluster.h */
#define SERVER_SETTINGS  "server.json"

struct DatastoreSupervisor {
    Loop *loop;
    const char *state_dir;
    ServerMember *member; /* NULL: none */
    LoopTimer timer;
    char why[sizeof(((Error *)NULL)->text)]; /* why it could not be opened */
};

static bool has_file(const DatastoreSupervisor *supervisor, const char *name)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return file_exists(
        arena_format(&arena, "%s/" SERVER_DIRECTORY "/%s%c", supervisor->state_dir, name, '\0')
            .data);
}

/* `eden init` runs etcd itself, and writes the settings of the server last. */
static bool has_member(const DatastoreSupervisor *supervisor)
{
    return has_file(supervisor, DATASTORE_SETTINGS) && has_file(supervisor, SERVER_SETTINGS);
}

/* A removed server deletes all of these; if only one is missing, it may just have been lost. */
static bool is_removed(const DatastoreSupervisor *supervisor)
{
    return !has_file(supervisor, DATASTORE_SETTINGS) && !has_file(supervisor, SERVER_SETTINGS) &&
           !has_file(supervisor, DATASTORE_CA_KEY);
}

static void start(DatastoreSupervisor *supervisor)
{
    Error err;
    if (server_member_open(
            &(ServerMemberOptions){ .loop = supervisor->loop, .state_dir = supervisor->state_dir },
            &supervisor->member, &err)) {
        supervisor->why[0] = '\0';
        return;
    }
    if (strcmp(supervisor->why, err.text) != 0) {
        snprintf(supervisor->why, sizeof supervisor->why, "%s", err.text);
        log_error("cannot start the datastore of this server", LOG_C("error", err.text));
    }
    loop_timer_start(&supervisor->timer, DATASTORE_RETRY_MS);
}

static void stop(DatastoreSupervisor *supervisor)
{
    server_member_stop(supervisor->member);
    if (server_member_status(supervisor->member).state == LOCAL_STOPPED) {
        server_member_free(TAKE(supervisor->member));
    } else {
        loop_timer_start(&supervisor->timer, LOCAL_POLL_MS);
    }
}

void datastore_supervisor_check(DatastoreSupervisor *supervisor)
{
    bool is_stopping = supervisor->member != NULL &&
                       server_member_status(supervisor->member).state >= LOCAL_STOPPING;
    if (supervisor->member != NULL && (is_stopping || is_removed(supervisor))) {
        stop(supervisor);
    } else if (supervisor->member == NULL && has_member(supervisor)) {
        start(supervisor);
    }
}

static void timer_expired(void *context)
{
    datastore_supervisor_check(context);
}

DatastoreSupervisor *datastore_supervisor_new(Loop *loop, const char *state_dir)
{
    DatastoreSupervisor *supervisor = memory_new(sizeof *supervisor);
    supervisor->loop = loop;
    supervisor->state_dir = state_dir;
    loop_timer_init(&supervisor->timer, loop, timer_expired, supervisor);
    datastore_supervisor_check(supervisor);
    return supervisor;
}

void datastore_supervisor_free(DatastoreSupervisor *supervisor)
{
    if (supervisor != NULL) {
        loop_timer_stop(&supervisor->timer);
        server_member_free(supervisor->member);
        free(supervisor);
    }
}

int64_t datastore_supervisor_pid(const DatastoreSupervisor *supervisor)
{
    return supervisor->member == NULL ? 0 : server_member_status(supervisor->member).pid;
}

void datastore_supervisor_print(const DatastoreSupervisor *supervisor, Buf *out)
{
    if (supervisor->member == NULL && supervisor->why[0] == '\0') {
        return;
    }
    LocalMemberStatus status = { .why = supervisor->why };
    if (supervisor->member != NULL) {
        status = server_member_status(supervisor->member);
    }
    json_out_open(out, "datastore", '{');
    json_out_bool(out, "running", status.pid != 0);
    if (status.pid != 0) {
        json_out_int(out, "pid", status.pid);
    }
    if (status.why[0] != '\0') {
        json_out_text(out, "why", str_from_c(status.why));
    }
    json_out_close(out, '}');
}
