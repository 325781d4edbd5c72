/* yaml.*: values in YAML files. */
#include "modules/document.h"

static bool value_check(Call *call, Outcome *outcome, Error *err)
{
    return document_check(call, &document_yaml, outcome, err);
}

static const Action actions[] = {
    { "value", "Ensure that a YAML file has a value at a place, or none.", document_params,
      value_check, target_apply_one, .claims = document_claims, .thing = "path name",
      .part = "path", .wants = "kind=file",
      .text =
          "Comments, order, indentation and quotes of the file stay: only the text of the value\n"
          "is changed, and of a map or list only what differs. Maps on the way that are missing\n"
          "are made. A file where that cannot be done without touching other lines, because an\n"
          "anchor is used elsewhere for instance, is left alone and the step fails. So does a\n"
          "file of several documents.\n"
          "\n"
          "'path' has dots between its keys, or starts with '/' and is a JSON pointer, or is a\n"
          "list. A number is a place in a list. A path that ends with '-' means one item of a\n"
          "list, in any place: it is appended if it is missing, and 'state:\n"
          "absent' removes it.\n",
      .example = "- name: no root by ssh in new machines\n"
                 "  yaml.value:\n"
                 "    - name: /etc/cloud/cloud.cfg\n"
                 "    - path: disable_root\n"
                 "    - value: true\n"
                 "    - create: true\n" },
    { 0 },
};

const Module modules_yaml = {
    .name = "yaml",
    .help = "Values in YAML files.",
    .id_param = "name",
    .actions = actions,
};
