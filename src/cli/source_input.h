/* Reads the spec of a source from the options of `eden sources add` and `eden sources set`. */
#pragma once

#include "cli/invocation.h"
#include "lang/value.h"

#define SOURCE_BRANCH_OPTION                                                                      \
    {                                                                                             \
        .name = "branch", .argument = "BRANCH",                                                   \
        .help =                                                                                   \
            "branch to follow, or to propose; default: that of the repository at the first fetch" \
    }
#define SOURCE_OPTIONS                                                                        \
    SOURCE_BRANCH_OPTION,                                                                     \
        { .name = "directory",                                                                \
          .argument = "PATH",                                                                 \
          .help = "site directory that this repository provides; default: the entire site" }, \
        { .name = "interval",                                                                 \
          .argument = "TIME",                                                                 \
          .help = "how often to look for new commits, 5s to 1d; default: 1m" },               \
        { .name = "host-key",                                                                 \
          .argument = "KEY",                                                                  \
          .repeats = true,                                                                    \
          .help = "host key of the SSH server, such as 'ssh-ed25519 AAAA...'" },              \
        { .name = "known-hosts",                                                              \
          .argument = "FILE",                                                                 \
          .word = WORD_FILE,                                                                  \
          .help = "known_hosts file with the SSH server's host keys" },                       \
        { .name = "token-file",                                                               \
          .argument = "FILE",                                                                 \
          .word = WORD_FILE,                                                                  \
          .help = "file with a token for HTTPS; '-' reads standard input" },                  \
        { .name = "ca",                                                                       \
          .argument = "FILE",                                                                 \
          .word = WORD_FILE,                                                                  \
          .help = "CA certificate of the HTTPS server, in PEM" },                             \
    {                                                                                         \
        .name = "signers", .argument = "FILE", .word = WORD_FILE,                             \
        .help = "accept only commits signed by keys in this ALLOWED SIGNERS file; see "       \
                "ssh-keygen(1)"                                                               \
    }

/* Sets a field from the option of the same name, if it was given. */
void source_input_option(const Invocation *invocation, Map *map, const char *option);
/* Sets the fields whose options were given. `url` is that of the source. Returns false after
 * reporting an error; `*code` is the exit code. */
MUST_CHECK bool source_input(Invocation *invocation, const char *url, Map *spec, int *code);
