/* http.*: what web servers have. */
#include "modules/http/actions.h"

static const Action actions[] = {
    { "download", "Ensure that a file is what a web server has under an address.", download_params,
      download_check, download_apply, .claims = download_claims, .cost_ms = 2000,
      .thing = "path name", .wants = "kind=file",
      .text =
          "'digest' says what the file must be. A file that has it is left alone and the server\n"
          "is not asked, neither in a run nor in a plan. With 'pin: true' the first download from\n"
          "an address is trusted, and its digest is noted in a hidden file beside the file\n"
          "(.eden-pin-...); from then on it is as if that digest were given. Another address, or\n"
          "removing that file, starts over. Only https can be pinned.\n"
          "\n"
          "What comes is written beside its place and moved there when its digest is right, at\n"
          "one moment. An answer that is cut off, too large, too slow, or another content than\n"
          "wanted leaves everything as it is.\n"
          "\n"
          "curl does it, without its own configuration; proxies are those of the environment.\n"
          "From https no redirect leads to http. Names, passwords and headers are seen in no list\n"
          "of processes; a secret in 'headers' is not carried along by redirects: Authorization\n"
          "and Cookie stay behind, with others the step fails.\n",
      .example = "- name: the release\n"
                 "  http.download:\n"
                 "    - name: /var/cache/app-1.4.tar.gz\n"
                 "    - url: https://downloads.example.net/app-1.4.tar.gz\n"
                 "    - digest: sha256:"
                 "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n" },
    { 0 },
};

const Module modules_http = {
    .name = "http",
    .help = "Files from web servers.",
    .id_param = "name",
    .actions = actions,
};
