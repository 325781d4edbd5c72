/* json.*: values in JSON files. */
#include "modules/document.h"

static bool value_check(Call *call, Outcome *outcome, Error *err)
{
    return document_check(call, &document_json, outcome, err);
}

static const Action actions[] = {
    { "value", "Ensure that a value is present in a JSON file or absent from it.", document_params,
      value_check, target_apply_one, .verify_all = document_verify, .claims = document_claims,
      .resource = "path name", .part = "path", .part_kind = PART_DATA_PATH,
      .desired_state = "kind=file",
      .text = "The order of keys, indentation and spacing of the file are preserved; new values\n"
              "are formatted like their neighbors. Missing maps along the path are created. In\n"
              "a map or list, only what differs is changed.\n"
              "\n"
              "'path' is a string of keys separated by dots, a JSON pointer that starts with\n"
              "'/', or a list of keys. A number is an index in a list. A path that ends with\n"
              "'-' means an item of a list at any position: it is appended if it is missing,\n"
              "and 'state: absent' removes it.\n",
      .example = "- name: limit the log size\n"
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
