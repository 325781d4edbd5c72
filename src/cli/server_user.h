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

#define ETCD_ADDRESS_OPTION                                                                     \
    {                                                                                           \
        .name = "etcd-address", .argument = "ADDRESS",                                          \
        .help = "IP address for etcd (ports 2379 and 2380); default: the first --address that " \
                "is one"                                                                        \
    }
#define STORE_OPTIONS                                                                \
    { .name = "store",                                                               \
      .argument = "STORE",                                                           \
      .choices = "file|etcd",                                                        \
      .fallback = "file",                                                            \
      .help = "where the store is: in a file, or in an etcd that the servers run" }, \
        ETCD_ADDRESS_OPTION

/* Sets where the server's own etcd listens, after server_names_read. With `may_be_none`, nothing is
 * set if no address is suitable. Fails with ERROR_INVALID. */
MUST_CHECK bool server_etcd_address_read(const Invocation *invocation, bool may_be_none,
                                         ServerSettings *settings, Error *err);

/* Sets the store according to the options. `is_complete`: all four options must be given, or none.
 * Fails with ERROR_INVALID. */
MUST_CHECK bool server_etcd_read(const Invocation *invocation, bool is_complete,
                                 ServerSettings *settings, Error *err);

/* Sets the store that STORE_OPTIONS and ETCD_OPTIONS name, after the names. Fails with
 * ERROR_INVALID. */
MUST_CHECK bool server_store_read(const Invocation *invocation, ServerSettings *settings,
                                  Error *err);

/* Sets the names given by --address, or all names and addresses of this machine. */
void server_names_read(const Invocation *invocation, ServerSettings *settings);
