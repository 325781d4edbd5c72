/* pkgrepo.*: where packages come from. */
#include "modules/pkgrepo/actions.h"

static const Action actions[] = {
    { "managed", "Ensure that packages can come from there.", repo_managed_params,
      repo_managed_check, repo_managed_apply, .claims = repo_managed_claims, .stage = STAGE_SOURCES,
      .thing = "repository name", .wants = "state=present",
      .text =
          "For apt it is the file NAME.sources in /etc/apt/sources.list.d, or NAME.list with\n"
          "'format: oneline'; for dnf NAME.repo in /etc/yum.repos.d, for zypper in\n"
          "/etc/zypp/repos.d.\n"
          "\n"
          "The key that signs it is good for this source only. An armored 'key' stands in the\n"
          ".sources file itself; other keys, and 'key_file', become files of their own in\n"
          "/etc/apt/keyrings or /etc/pki/rpm-gpg. Without a key apt uses those that the system\n"
          "trusts for everything.\n"
          "\n"
          "Nothing is downloaded: the next step that installs something reads the index again.\n",
      .example = "- name: packages of the shop\n"
                 "  pkgrepo.managed:\n"
                 "    - name: shop\n"
                 "    - uris: https://packages.example.org/debian\n"
                 "    - suites: bookworm\n"
                 "    - components: main\n"
                 "    - key_path: /usr/share/keyrings/shop.gpg\n"
                 "    - provider: apt\n" },
    { "absent", "Ensure that no packages come from there.", repo_absent_params, repo_absent_check,
      repo_absent_apply, .claims = repo_absent_claims, .stage = STAGE_SOURCES,
      .thing = "repository name", .wants = "state=absent",
      .text = "Its key goes too, unless another source uses it. What was installed stays.\n",
      .example = "- name: no more packages of the shop\n"
                 "  pkgrepo.absent:\n"
                 "    - name: shop\n"
                 "    - provider: apt\n" },
    { 0 },
};

const Module modules_pkgrepo = {
    .name = "pkgrepo",
    .help = "Where packages come from.",
    .id_param = "name",
    .actions = actions,
};
