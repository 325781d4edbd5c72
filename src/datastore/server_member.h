/* The member of the datastore that belongs to the server on this machine: finds its settings, its
 * certificate and the program, and runs it (local_member.h). Used by the agent, and by `eden init`
 * for as long as it creates the cluster. Loop thread. */
#pragma once

#include "datastore/local_member.h"

typedef struct ServerMember ServerMember;

typedef struct ServerMemberOptions {
    Loop *loop;
    const char *state_dir; /* borrowed */
    bool is_new_cluster;   /* this is the first member of a new cluster */
    /* The state has changed. Must not stop or free the member. May be NULL. */
    void (*changed)(void *context);
    void *context;
} ServerMemberOptions;

/* Sets the path of etcd, found in PATH. Fails with ERROR_NOT_FOUND, naming the package. */
MUST_CHECK bool server_member_program(char *out, size_t size, Error *err);

/* Starts it, or finds it running. It runs as the owner of the server's directory. Fails with
 * ERROR_NOT_FOUND if etcd is not installed, and on file errors. */
MUST_CHECK bool server_member_open(const ServerMemberOptions *options, ServerMember **out,
                                   Error *err);
/* etcd continues to run. NULL is allowed. */
void server_member_free(ServerMember *member);
DEFINE_AUTO(ServerMember, server_member_free)

void server_member_wake(ServerMember *member);
/* Stops etcd; the state becomes LOCAL_STOPPED. */
void server_member_stop(ServerMember *member);
LocalMemberStatus server_member_status(const ServerMember *member);

/* Whether there is anything of a member in the state directory. */
bool server_member_is_left(const char *state_dir);
/* Stops etcd if it is running, and deletes its data: what an interrupted `eden init` has left.
 * Blocks. */
MUST_CHECK bool server_member_delete(const char *state_dir, Error *err);
/* The member whose data is here, according to the agent; 0: none. Fails if that is not known. */
MUST_CHECK bool server_member_data(const char *state_dir, uint64_t *out, Error *err);
