/* file.*: files, directories and links. */
#include "modules/file/actions.h"
#include "modules/file/target.h"

static const Action actions[] = {
    { "managed", "Ensure that a file has this content, owner and mode.", managed_params,
      managed_check, managed_apply, .claims = managed_claims, .thing = "path name",
      .wants = "kind=file",
      .text =
          "At most one of 'content', 'template', 'source' and 'from' says what is in the file;\n"
          "without any, its content is left alone and a new file is empty. With 'from', 'name' is\n"
          "the directory below which the published files are placed. A single file may also go "
          "under\n"
          "another name: it does when 'name' is no directory and does not end with '/'.\n"
          "\n"
          "What is not given stays as it is: mode, owner and group of a file that is there. A new\n"
          "file has mode 0644, or 0600 when its content is secret. The file is replaced at one\n"
          "moment, so a part of it is never visible. A link is replaced too, not followed.\n"
          "\n"
          "'validate' runs a command on the new content before it is used, with '%s' replaced by\n"
          "its path; when that fails the old file stays.\n"
          "\n"
          "Of a file that not everybody may read, as it is or as it shall be (0600, 0640), plan\n"
          "and apply tell only that it changes; 'diff: true' shows the difference too. Secrets\n"
          "are never shown.\n",
      .example = "- name: greet who logs in\n"
                 "  file.managed:\n"
                 "    - name: /etc/motd\n"
                 "    - content: |\n"
                 "        Welcome.\n"
                 "    - owner: root\n"
                 "    - mode: 0644\n" },
    { "content", "Read files, for other steps to place elsewhere.", content_params, content_check,
      .query = content_query, .claims = content_claims,
      .text = "The files are published under the name of the step: 'from: [{file: NAME}]' of\n"
              "file.managed puts them down again, with their modes. Links are left out. What not\n"
              "everybody may read is a secret from then on and shown in no diff.\n",
      .example = "- name: read the certificates\n"
                 "  file.content:\n"
                 "    - name: /etc/pki\n"
                 "    - recursive: true\n" },
    { "contents", "Read a text.", contents_params, contents_check, .query = contents_query,
      .claims = content_claims,
      .text = "As a macro it is the text. What not everybody may read is a secret.\n",
      .example = "- name: when did it start\n"
                 "  file.contents:\n"
                 "    - name: /etc/hostname\n" },
    { "directory", "Ensure that there is a directory.", directory_params, directory_check,
      directory_apply, .claims = directory_claims, .thing = "path name", .wants = "kind=directory",
      .text =
          "With 'clean' everything in it goes that no step of the node takes care of and 'keep' "
          "does\n"
          "not name. Nothing goes where a step puts published files ('from'), because their names\n"
          "are not known beforehand, nor in a run of single jobs ('--job'), which does not know "
          "what\n"
          "the others take care of.\n",
      .example = "- name: a place for data\n"
                 "  file.directory:\n"
                 "    - name: /srv/data\n"
                 "    - mode: 0750\n"
                 "    - recurse: true\n"
                 "    - file_mode: 0640\n" },
    { "symlink", "Ensure that a link leads there.", symlink_params, symlink_check, symlink_apply,
      .claims = symlink_claims, .thing = "path name", .wants = "kind=link",
      .example = "- name: use the current release\n"
                 "  file.symlink:\n"
                 "    - name: /srv/app\n"
                 "    - target: releases/1.4\n" },
    { "absent", "Ensure that there is nothing.", absent_params, absent_check, absent_apply,
      .claims = absent_claims, .thing = "path name", .wants = "kind=absent",
      .text = "A directory goes with all that is in it, but nothing that is mounted there.\n",
      .example = "- name: no more telnet\n"
                 "  file.absent:\n"
                 "    - name: /etc/telnet\n" },
    { "line", "Ensure that a line is in a file, or is not.", line_params, line_check,
      target_apply_one, .claims = line_claims, .thing = "path name", .part = "match|line",
      .wants = "kind=file",
      .text =
          "With 'match' the last line that the pattern finds becomes the line. Otherwise, when\n"
          "the file has no such line yet, it goes behind the last line that 'after' finds, before\n"
          "the first that 'before' finds, or to the end. With 'state: absent' all lines that are\n"
          "equal or that 'match' finds are removed.\n",
      .example = "- name: no passwords\n"
                 "  file.line:\n"
                 "    - name: /etc/ssh/sshd_config\n"
                 "    - match: ^#?PasswordAuthentication\n"
                 "    - line: PasswordAuthentication no\n"
                 "    - create: true\n" },
    { "block", "Ensure that some lines are in a file, between marks.", block_params, block_check,
      target_apply_one, .claims = block_claims, .thing = "path name", .part = "marker",
      .wants = "kind=file",
      .text =
          "The marks are how the block is found again: give each block of a file a 'marker' of\n"
          "its own.\n",
      .example = "- name: the hosts of the cluster\n"
                 "  file.block:\n"
                 "    - name: /etc/hosts\n"
                 "    - content: |\n"
                 "        10.0.0.1 db1\n"
                 "        10.0.0.2 db2\n"
                 "    - create: true\n" },
    { "copy", "Ensure that a file is the copy of another one.", copy_params, copy_check,
      target_apply_one, .claims = copy_claims, .thing = "path name", .wants = "kind=file",
      .text =
          "Both are on this machine. The mode is that of the original unless given, without its\n"
          "set-user-ID, set-group-ID and sticky bits.\n",
      .example = "- name: keep the defaults at hand\n"
                 "  file.copy:\n"
                 "    - name: /etc/app.conf\n"
                 "    - source: /etc/app.conf.default\n" },
    { 0 },
};

const Module modules_file = {
    .name = "file",
    .help = "Files, directories and links.",
    .id_param = "name",
    .actions = actions,
};
