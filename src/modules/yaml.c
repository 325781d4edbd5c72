/* yaml.*: values in YAML files. */
#include "modules/document.h"

static bool value_check(Call *call, Outcome *outcome, Error *err)
{
    return document_check(call, &document_yaml, outcome, err);
}

static const Action actions[] = {
    { "value", "Ensure that a value is present in a YAML file or absent from it.", document_params,
      value_check, target_apply_one, .verify_all = document_verify, .claims = document_claims,
      .resource = "path name", .part = "path", .part_kind = PART_DATA_PATH,
      .desired_state = "kind=file",
      .text = "Comments, order, indentation and quotes of the file are preserved: only the\n"
              "value is changed, and in a map or list only what differs. Missing maps along the\n"
              "path are created. If the change is not possible without touching other lines,\n"
              "for instance because an anchor is used elsewhere, the file is left unchanged and\n"
              "the step fails. The step also fails for a file with several documents.\n"
              "\n"
              "'path' is a string of keys separated by dots, a JSON pointer that starts with\n"
              "'/', or a list of keys. A number is an index in a list. A path that ends with\n"
              "'-' means an item of a list at any position: it is appended if it is missing,\n"
              "and 'state: absent' removes it.\n",
      .example = "- name: no root logins on new machines\n"
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
