/* json.*: values in JSON files. */
#include "modules/document.h"

static bool value_check(Call *call, Outcome *outcome, Error *err)
{
    return document_check(call, &document_json, outcome, err);
}

static const Action actions[] = {
    { "value", "Ensure that a JSON file has a value at a place, or none.", document_params,
      value_check, target_apply_one, .claims = document_claims, .thing = "path name",
      .part = "path", .wants = "kind=file",
      .text =
          "The order of keys, indentation and spacing of the file stay; what is new is written as\n"
          "what is beside it. Maps on the way that are missing are made. Of a map or list only\n"
          "what differs is touched.\n"
          "\n"
          "'path' has dots between its keys, or starts with '/' and is a JSON pointer, or is a\n"
          "list. A number is a place in a list. A path that ends with '-' means one item of a\n"
          "list, in any place: it is appended if it is missing, and 'state:\n"
          "absent' removes it.\n",
      .example = "- name: a smaller log\n"
                 "  json.value:\n"
                 "    - name: /etc/docker/daemon.json\n"
                 "    - path: log-opts.max-size\n"
                 "    - value: 10m\n"
                 "    - create: true\n" },
    { 0 },
};

const Module modules_json = {
    .name = "json",
    .help = "Values in JSON files.",
    .id_param = "name",
    .actions = actions,
};
