/* git.*: clones of repositories. */
#include "modules/git/actions.h"

static const Action actions[] = {
    { "cloned", "Ensure that a directory is a clone of a repository.", cloned_params, cloned_check,
      cloned_apply, .claims = cloned_claims, .cost_ms = 2000, .thing = "path name",
      .wants = "kind=directory",
      .text =
          "With a branch the clone follows it; with a tag or all digits of a commit it stands\n"
          "there. A commit that is checked out already needs no network. A new clone is made\n"
          "beside its place and moved there when it is whole.\n"
          "\n"
          "Files that were changed and local commits make the step fail, unless\n"
          "'force' gives them up; files that git does not know are never touched.\n"
          "\n"
          "git asks no questions here and runs no hooks. With ssh the key of the host must be\n"
          "known (ssh.known_host). 'password' is seen in no list of processes and is not kept in\n"
          "the clone.\n",
      .example = "- name: the application\n"
                 "  git.cloned:\n"
                 "    - name: /srv/app\n"
                 "    - repo: https://git.example.net/app.git\n"
                 "    - rev: v1.4\n"
                 "    - depth: 1\n" },
    { 0 },
};

const Module modules_git = {
    .name = "git",
    .help = "Clones of git repositories.",
    .id_param = "name",
    .actions = actions,
};
