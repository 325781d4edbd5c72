#include "datastore/server_member.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "datastore/certificate.h"
#include "datastore/etcd_process.h"
#include "datastore/member_settings.h"
#include "sys/file.h"
#include "sys/privilege.h"

#define SERVER_DIRECTORY "server" /* in the state directory; same as in server/create_cluster.h */

enum {
    PATH_SIZE = 512,
};

struct ServerMember {
    ServerMemberOptions options;
    Arena arena; /* of the settings and paths */
    MemberSettings settings;
    char program[PATH_SIZE];
    Directory server; /* of the server's files */
    TlsContext *tls;
    LocalMember *local;
};

/* --- Files ----------------------------------------------------------------------------------- */

bool server_member_program(char *out, size_t size, Error *err)
{
    const char *path = getenv("PATH");
    Str rest = str_from_c(path == NULL ? "/usr/bin:/bin" : path), directory;
    while (str_split_next(&rest, ':', &directory)) {
        int len = snprintf(out, size, "%" STR_FMT "/etcd", STR_ARG(directory));
        /* An empty entry would mean the current directory. */
        if (directory.len > 0 && directory.data[0] == '/' && len < (int)size &&
            file_is_executable(out)) {
            return true;
        }
    }
    return error_set(err, ERROR_NOT_FOUND,
                     "etcd is not installed; install the package 'etcd-server' (Debian, Ubuntu) or "
                     "'etcd', version 3.4 or later");
}

static bool read_settings(ServerMember *member, Arena *arena, MemberSettings *out, Error *err)
{
    Str text;
    return directory_read(&member->server, arena, DATASTORE_SETTINGS, MEMBER_SETTINGS_MAX, &text,
                          err) &&
           (member_settings_read(arena, text, out, err) ||
            error_wrap(err, "%s", member->server.path));
}

/* Of a client; later calls use the certificate that is there now. */
static bool load_tls(ServerMember *member, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    return directory_open_child(&member->server, DATASTORE_CERTIFICATES, &directory, err) &&
           datastore_certificate_use(member->options.loop, &directory, &member->tls, err);
}

static const char *path_of(ServerMember *member, const char *name)
{
    return arena_copy_c(&member->arena,
                        arena_format(&member->arena, "%s/%s", member->options.state_dir, name));
}

/* --- Callbacks of the member ----------------------------------------------------------------- */

/* Called before it asks others, so that both are current then. */
static uint32_t list_endpoints(void *context, Address *out)
{
    ServerMember *member = context;
    AUTO_CLEAR(Arena) arena;
    MemberSettings settings;
    Address own, peer;
    uint32_t count = 0;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!read_settings(member, &arena, &settings, &err) || !load_tls(member, &err) ||
        !member_address_parse(settings.address, &own, &peer, &err)) {
        log_warning("cannot read the settings of the datastore", LOG_C("error", err.text));
        return 0;
    }
    for (uint32_t i = 0; i < settings.endpoint_count; i++) {
        if (address_parse(settings.endpoints[i], own.port, &out[count], &err) &&
            !address_same_host(&out[count], &own)) {
            count++;
        }
    }
    return count;
}

static void changed(void *context)
{
    const ServerMember *member = context;
    if (member->options.changed != NULL && member->local != NULL) {
        member->options.changed(member->options.context);
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static bool open_files(ServerMember *member, LocalMemberOptions *local, Error *err)
{
    return server_member_program(member->program, sizeof member->program, err) &&
           directory_open(path_of(member, SERVER_DIRECTORY), &member->server, err) &&
           read_settings(member, &member->arena, &member->settings, err) &&
           member_address_parse(member->settings.address, &local->client, &local->peer, err) &&
           load_tls(member, err) && directory_owner(&member->server, &local->uid, &local->gid, err);
}

bool server_member_open(const ServerMemberOptions *options, ServerMember **out, Error *err)
{
    AUTO(ServerMember) *member = memory_new(sizeof *member);
    LocalMemberOptions local = { .loop = options->loop,
                                 .is_new_cluster = options->is_new_cluster,
                                 .endpoints = list_endpoints,
                                 .changed = changed,
                                 .context = member };
    member->options = *options;
    member->server.descriptor = -1;
    arena_init(&member->arena, ARENA_UNLIMITED);
    if (!open_files(member, &local, err)) {
        return false;
    }
    local.path = path_of(member, DATASTORE_DIRECTORY);
    local.certificates = path_of(member, SERVER_DIRECTORY "/" DATASTORE_CERTIFICATES);
    local.program = member->program;
    local.node = str_from_c(member->settings.node);
    local.token = member->settings.cluster;
    local.tls = member->tls;
    local.as_user = running_as_root() && local.uid != 0;
    if (!local_member_new(&local, &member->local, err)) {
        return false;
    }
    *out = TAKE(member);
    return true;
}

void server_member_free(ServerMember *member)
{
    if (member == NULL) {
        return;
    }
    local_member_free(member->local);
    tls_context_free(member->tls);
    directory_close(&member->server);
    arena_clear(&member->arena);
    free(member);
}

void server_member_wake(ServerMember *member)
{
    local_member_wake(member->local);
}

void server_member_stop(ServerMember *member)
{
    local_member_stop(member->local);
}

LocalMemberStatus server_member_status(const ServerMember *member)
{
    return local_member_status(member->local);
}

/* --- Leftovers ------------------------------------------------------------------------------- */

bool server_member_is_left(const char *state_dir)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    Error err;
    return directory_open(state_dir, &state, &err) && directory_has(&state, DATASTORE_DIRECTORY);
}

static void stop_waiting(void *context, const char *why)
{
    loop_stop(context);
}

static bool stop_etcd(const Directory *directory, Error *err)
{
    AUTO(Loop) *loop = loop_new();
    AUTO(EtcdProcess) *process = etcd_process_new(&(EtcdProcessOptions){
        .loop = loop, .directory = directory, .ended = stop_waiting, .context = loop });
    if (etcd_process_find(process)) {
        etcd_process_stop(process);
        loop_run(loop);
    }
    return !etcd_process_find(process) ||
           error_set(err, ERROR_CONFLICT, "etcd is still running in %s", directory->path);
}

bool server_member_delete(const char *state_dir, Error *err)
{
    AUTO_CLEAR(Directory) state = { .descriptor = -1 };
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    if (!server_member_is_left(state_dir)) {
        return true;
    }
    if (!directory_open(state_dir, &state, err) ||
        !directory_open_child(&state, DATASTORE_DIRECTORY, &directory, err) ||
        !stop_etcd(&directory, err)) {
        return false;
    }
    directory_remove_child(&state, DATASTORE_DIRECTORY);
    return true;
}

bool server_member_data(const char *state_dir, uint64_t *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    Marker marker;
    Str text;
    arena_init(&arena, ARENA_UNLIMITED);
    Str path = arena_format(&arena, "%s/" DATASTORE_DIRECTORY "/" MARKER_FILE "%c", state_dir, 0);
    *out = 0;
    if (!file_read(&arena, path.data, MARKER_MAX, &text, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    if (!marker_read(&arena, text, &marker, err)) {
        return false;
    }
    if (marker.state != MARKER_REMOVED) {
        *out = strtoull(marker.member_id, NULL, 16);
    }
    return true;
}
