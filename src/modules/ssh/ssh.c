/* ssh.*: who may come here, and whom we know. */
#include "modules/ssh/actions.h"
#include "modules/ssh/key.h"

#define EXAMPLE_KEY \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX"

static const Action actions[] = {
    { "authorized_key", "Ensure that the owner of a key may log in.", authorized_key_params,
      authorized_key_check, authorized_key_apply, .verify = ssh_key_verify,
      .claims = authorized_key_claims, .id_param = "user", .thing = "keys user", .part = "key",
      .text =
          "The key gets a line of ~/.ssh/authorized_keys; other lines stay. Folder and file\n"
          "belong to the user alone. Options and comment that the step does not give stay as they\n"
          "are in the file; 'options: []' takes them away.\n"
          "\n"
          "A home is its user's: where ~/.ssh or the file is a link, or belongs to a third "
          "person,\n"
          "the step fails and writes nothing.\n",
      .example = "- name: ann may restart the web server\n"
                 "  ssh.authorized_key:\n"
                 "    - user: root\n"
                 "    - key: " EXAMPLE_KEY "\n"
                 "    - comment: ann@example.net\n"
                 "    - options:\n"
                 "        - restrict\n"
                 "        - command=\"systemctl restart nginx\"\n" },
    { "known_host", "Ensure by which key a host is known.", known_host_params, known_host_check,
      known_host_apply, .verify = ssh_key_verify, .claims = known_host_claims,
      .thing = "known-host name", .part = "user port key",
      .text =
          "In /etc/ssh/ssh_known_hosts, or with 'user' in ~/.ssh/known_hosts. The host has one "
          "key\n"
          "of each type: another one of the same type is taken away. Hashed names are found too.\n"
          "With 'state: absent' and no key, all keys of the host go.\n",
      .example = "- name: where backups go\n"
                 "  ssh.known_host:\n"
                 "    - name: backup.example.net\n"
                 "    - key: " EXAMPLE_KEY "\n" },
    { 0 },
};

const Module modules_ssh = {
    .name = "ssh",
    .help = "Keys for logging in.",
    .id_param = "name",
    .actions = actions,
};
