/* What commands have in common that stay, `eden serve` and `eden agent`, or that set them up. */
#pragma once

#include "base/error.h"
#include "cli/invocation.h"

/* For the list of options of a command that stays. */
#define LOG_OPTIONS                                                                               \
    { .name = "log-level",                                                                        \
      .argument = "LEVEL",                                                                        \
      .choices = "debug|info|warning|error",                                                      \
      .fallback = "info",                                                                         \
      .help = "minimum level of messages that are logged to standard error" },                    \
    {                                                                                             \
        .name = "log-format", .argument = "FORMAT", .choices = "human|json", .fallback = "human", \
        .help = "format of the log"                                                               \
    }

/* Logs as the options say; before threads are started. */
void daemon_command_log(const Invocation *invocation);
/* No core dump has its keys. Before threads are started and keys are read. */
void daemon_command_protect(void);

/* The name of this machine in small letters, perhaps with its domain; and what it is called as a node
 * unless somebody says otherwise, without it. */
Str own_host_name(Arena *arena);
Str own_node_name(Arena *arena);

/* What starts the daemons of this machine, for people: "'systemctl enable --now eden' (or 'eden agent')",
 * and of another state directory than the unit has, what does with that. */
Str daemon_command_start(const Invocation *invocation);

/* Tells what went wrong, as a problem with that code, and returns the exit code of its kind. */
int daemon_command_fail(Invocation *invocation, const char *code, const Error *err);
