/* `eden nodes approve --ssh` and `eden nodes ssh-key`: letting in machines by asking them over SSH. */
#pragma once

#include "cli/cluster_client.h"

#define NODES_SSH_OPTIONS                                                      \
    { .name = "ssh",                                                           \
      .verbs = "approve",                                                      \
      .argument = "[USER@]HOST[:PORT]",                                        \
      .help = "approve: after asking the machine there" },                     \
        { .name = "host-key",                                                  \
          .verbs = "approve",                                                  \
          .argument = "KEY",                                                   \
          .repeats = true,                                                     \
          .help = "by which --ssh knows it: a line of ssh_host_*_key.pub" },   \
        { .name = "known-hosts",                                               \
          .verbs = "approve",                                                  \
          .argument = "FILE",                                                  \
          .word = WORD_FILE,                                                   \
          .help = "the same from a file of OpenSSH" },                         \
        { .name = "accept-new-host-key",                                       \
          .verbs = "approve",                                                  \
          .help = "--ssh takes whatever key it shows, and prints it" },        \
    {                                                                          \
        .name = "sudo", .help = "ssh-key: the line for another user than root" \
    }

/* Whether an option that only goes with --ssh was given without it, which was told then. */
bool nodes_ssh_is_misused(const Invocation *invocation);
/* The exit code. */
int nodes_ssh_approve(Invocation *invocation, Str name);
int nodes_ssh_key(Invocation *invocation);
