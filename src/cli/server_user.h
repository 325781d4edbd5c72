/* The user that the server will run as, and its store, for commands that set up a server. */
#pragma once

#include "cli/invocation.h"
#include "server/create_cluster.h"

#define SERVER_USER_OPTION                                      \
    {                                                           \
        .name = "user", .argument = "NAME", .fallback = "eden", \
        .help = "user to run the server as, if started by root" \
    }

/* Looked up only if run by root; otherwise the server runs as the current user. Fails with
 * ERROR_NOT_FOUND and a hint. */
MUST_CHECK bool server_user_find(Arena *arena, const char *name, ClusterSpec *spec, Error *err);

#define ETCD_OPTIONS                                                                        \
    { .name = "endpoints",                                                                  \
      .argument = "ADDRESS",                                                                \
      .repeats = true,                                                                      \
      .help = "etcd endpoints for the store, such as 10.0.0.5:2379; default: use a file" }, \
        { .name = "etcd-ca", .argument = "FILE", .word = WORD_FILE, .help = "CA of etcd" }, \
        { .name = "etcd-cert",                                                              \
          .argument = "FILE",                                                               \
          .word = WORD_FILE,                                                                \
          .help = "certificate that this server presents to etcd" },                        \
    {                                                                                       \
        .name = "etcd-key", .argument = "FILE", .word = WORD_FILE,                          \
        .help = "key of that certificate"                                                   \
    }

/* Sets the store according to the options. `is_complete`: all four options must be given, or none.
 * Fails with ERROR_INVALID. */
MUST_CHECK bool server_etcd_read(const Invocation *invocation, bool is_complete,
                                 ServerSettings *settings, Error *err);

/* Sets the names given by --address, or all names and addresses of this machine. */
void server_names_read(const Invocation *invocation, ServerSettings *settings);
