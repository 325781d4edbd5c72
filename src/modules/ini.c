/* ini.*: options in INI files. */
#include "lang/edit/ini.h"

#include "modules/file/edit.h"

static const ParamSpec option_params[] = {
    { "name", PARAM_FILE, .required = true, .help = "path of the file" },
    { "section", PARAM_STRING, .help = "section; default: before the first section" },
    { "option", PARAM_STRING,
      .help = "name of the option; if omitted, the step manages the entire section" },
    { "value", PARAM_STRING, .aspect = "value", .help = "value of the option" },
    { "bare", PARAM_BOOL, .fallback = "false",
      .help = "write only the option name, without a value" },
    { "exclusive", PARAM_BOOL, .aspect = "!value", .fallback = "true",
      .help = "false: preserve options with the same name but different values" },
    { "separator", PARAM_STRING, .fallback = " = ",
      .help =
          "'=' or ':', optionally with spaces; used in files that do not have any options yet" },
    { "inline_comments", PARAM_STRING, .fallback = "",
      .help = "characters, such as '#;', that start a comment after a value and a space" },
    { "state", PARAM_STRING, .aspect = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether it should be in the file" },
    { "create", PARAM_BOOL, .fallback = "false", .help = "create the file if it does not exist" },
    FILE_WRITE_PARAMS,
    { 0 },
};

static bool read_params(Call *call, IniRequest *request, Error *err)
{
    *request = (IniRequest){
        .section = call_str(call, "section"),
        .option = call_str(call, "option"),
        .value = call_str(call, "value"),
        .has_value = call_has(call, "value"),
        .bare = call_bool(call, "bare"),
        .absent = str_eq(call_str(call, "state"), STR("absent")),
        .exclusive = call_bool(call, "exclusive"),
        .separator = call_str(call, "separator"),
        .comments = call_str(call, "inline_comments"),
    };
    if (request->bare && request->has_value) {
        return error_set(err, ERROR_INVALID, "'bare' and 'value' are mutually exclusive");
    }
    if (!request->absent && request->option.len > 0 && !request->bare && !request->has_value) {
        return error_set(err, ERROR_INVALID,
                         "'value' is required; for an option without a value, set 'bare: true'");
    }
    if (request->option.len == 0 && (request->has_value || request->bare)) {
        return error_set(err, ERROR_INVALID, "'option' is required");
    }
    return ini_request_check(request, err);
}

static bool check_params(Call *call, Error *err)
{
    IniRequest request;
    return read_params(call, &request, err);
}
CALL_VERIFY(option_verify, check_params)

static bool option_check(Call *call, Outcome *outcome, Error *err)
{
    IniRequest request;
    Edit edit;
    if (!read_params(call, &request, err) || !edit_begin(call, outcome, &edit, err)) {
        return false;
    }
    if (!edit.skipped) {
        Str text = ini_edit(call->arena, edit.target->old, &request);
        if (!edit_end_text(&edit, text, value_is_secret(call_param(call, "value")), outcome, err)) {
            return false;
        }
    }
    outcome->state = request.absent ? STR("absent") : STR("present");
    return true;
}

static void option_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, option_params, params, claims);
}

static const Action actions[] = {
    { "option", "Ensure that an option is present in an INI file or absent from it.", option_params,
      option_check, target_apply_one, .verify_all = option_verify, .claims = option_claims,
      .resource = "path name", .part = "section option", .desired_state = "kind=file",
      .text = "Comments, order and spacing are preserved. A new option is inserted after a\n"
              "commented-out line with the same option ('#port = 80'), or after the last option\n"
              "of its section, and formatted like that one. A missing section is added at the\n"
              "end.\n"
              "\n"
              "If there are several options with the same name, one remains and gets the value;\n"
              "with 'exclusive: false', another one is added, as in systemd unit files. With\n"
              "'state: absent', all of them are removed, or only those that have 'value';\n"
              "without 'option', the entire section is removed.\n"
              "\n"
              "Lines that are indented further than their option, or that follow a backslash,\n"
              "belong to its value; a multi-line 'value' is written in this way. Quotes are\n"
              "part of a value.\n",
      .example = "- name: listen everywhere\n"
                 "  ini.option:\n"
                 "    - name: /etc/app/server.ini\n"
                 "    - section: server\n"
                 "    - option: listen\n"
                 "    - value: 0.0.0.0\n"
                 "    - create: true\n" },
    { 0 },
};

const Module modules_ini = {
    .name = "ini",
    .help = "Options in INI files.",
    .id_param = "name",
    .actions = actions,
};
