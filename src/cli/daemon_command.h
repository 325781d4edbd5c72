/* Shared by commands that run as daemons, `eden serve` and `eden agent`, and commands that set them
 * up. */
#pragma once

#include "base/error.h"
#include "cli/invocation.h"

/* Options of a command that runs as a daemon. */
#define LOG_OPTIONS                                                                               \
    { .name = "log-level",                                                                        \
      .argument = "LEVEL",                                                                        \
      .choices = "debug|info|warning|error",                                                      \
      .fallback = "info",                                                                         \
      .help = "minimum level of log messages" },                                                  \
    {                                                                                             \
        .name = "log-format", .argument = "FORMAT", .choices = "human|json", .fallback = "human", \
        .help = "log format"                                                                      \
    }

/* Sets up logging according to the options. Must be called before threads are started. */
void daemon_command_log(const Invocation *invocation);
/* Disables core dumps, which would contain keys. Must be called before threads are started and keys
 * are read. `connections`: the maximum number of TLS connections. */
void daemon_command_protect(uint32_t connections);

/* The host name in lowercase, possibly with its domain; own_node_name(), the default name of the
 * node, omits the domain. */
Str own_host_name(Arena *arena);
Str own_node_name(Arena *arena);

/* For messages, how to start the daemons of this machine: "'systemctl enable --now eden' (or 'eden
 * agent')", or a command for a state directory other than the unit's. */
Str daemon_command_start(const Invocation *invocation);

/* Reports the error as a problem with this code and returns the exit code of its kind. */
int daemon_command_fail(Invocation *invocation, const char *code, const Error *err);
