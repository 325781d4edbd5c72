/* archive.*: what is in archives. */
#include "modules/archive/actions.h"

static const Action actions[] = {
    { "extracted", "Ensure that an archive is unpacked in a directory.", extracted_params,
      extracted_check, extracted_apply, .claims = extracted_claims, .cost_ms = 500,
      .thing = "path name", .wants = "kind=directory",
      .text =
          "tar, plain or packed by gzip, xz, zstd or bzip2, and zip; which of them, its first\n"
          "bytes tell. xz, zstd and bzip2 need the program of that name.\n"
          "\n"
          "A hidden file in the directory notes the digest of the archive and what came out of\n"
          "it. Another archive, or a member that is gone or replaced by that of another archive,\n"
          "and it is unpacked again; with 'restore: changed' also when a file has another size or\n"
          "time. Members that other steps change belong under 'keep'. With 'creates' only the\n"
          "presence of that path counts.\n"
          "\n"
          "What an archive of before had and this one has not stays. With 'clean: true' the\n"
          "directory is for one archive: members of others that were unpacked there before are\n"
          "removed, but not other files there, nor what 'keep' names.\n"
          "\n"
          "Files keep the permissions of the archive, but no set-id bits, and belong to 'owner',\n"
          "else to who runs this. Everything is unpacked in a private directory first and then\n"
          "moved into place; a new directory appears at one moment. Absolute names, '..', links\n"
          "that lead out, devices, and more than 'max_size' or 'max_members' allow make the step\n"
          "fail before anything is in place.\n",
      .example = "- name: the application\n"
                 "  archive.extracted:\n"
                 "    - name: /opt/app\n"
                 "    - source: /var/cache/app-1.4.tar\n"
                 "    - strip: 1\n" },
    { 0 },
};

const Module modules_archive = {
    .name = "archive",
    .help = "What is in archives.",
    .id_param = "name",
    .actions = actions,
};
