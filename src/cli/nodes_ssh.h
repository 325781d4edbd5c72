/* `eden nodes approve --ssh` and `eden nodes ssh-key`: letting in machines by asking them over SSH. */
#pragma once

#include "cli/cluster_client.h"

#define NODES_SSH_OPTIONS                                                                \
    { .name = "ssh",                                                                     \
      .verbs = "approve",                                                                \
      .argument = "[USER@]HOST[:PORT]",                                                  \
      .help = "log in to the machine there first, and compare keys" },                   \
        { .name = "host-key",                                                            \
          .verbs = "approve",                                                            \
          .argument = "KEY",                                                             \
          .repeats = true,                                                               \
          .help = "the host key to expect for --ssh: a line of ssh_host_*_key.pub" },    \
        { .name = "known-hosts",                                                         \
          .verbs = "approve",                                                            \
          .argument = "FILE",                                                            \
          .word = WORD_FILE,                                                             \
          .help = "host keys to expect for --ssh, from a known_hosts file of OpenSSH" }, \
        { .name = "accept-new-host-key",                                                 \
          .verbs = "approve",                                                            \
          .help = "let --ssh accept any host key, and print it" },                       \
    {                                                                                    \
        .name = "sudo", .verbs = "ssh-key",                                              \
        .help = "print the line for a user other than root, who may use sudo"            \
    }

/* Whether an option that only goes with --ssh was given without it, which was told then. */
bool nodes_ssh_is_misused(const Invocation *invocation);
/* The exit code. */
int nodes_ssh_approve(Invocation *invocation, Str name);
int nodes_ssh_key(Invocation *invocation);
