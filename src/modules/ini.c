/* ini.*: options of INI files. */
#include "lang/edit/ini.h"

#include "modules/file/edit.h"

static const ParamSpec option_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "the path of the file" },
    { "section", PARAM_STRING, .help = "its section; default: before the first section" },
    { "option", PARAM_STRING, .help = "its name; without, the section itself is meant" },
    { "value", PARAM_STRING, .decides = "value", .help = "what it is set to" },
    { "bare", PARAM_BOOL, .fallback = "false", .help = "the key alone, without a value" },
    { "exclusive", PARAM_BOOL, .decides = "!value", .fallback = "true",
      .help = "false: options of the same name with other values stay" },
    { "separator", PARAM_STRING, .fallback = " = ",
      .help = "'=' or ':'; blanks around it are for files that have no option yet" },
    { "inline_comments", PARAM_STRING, .fallback = "",
      .help = "characters, such as '#;', that start a comment behind a value and a blank" },
    { "state", PARAM_STRING, .decides = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether it shall be in the file" },
    { "create", PARAM_BOOL, .fallback = "false", .help = "make the file when it is not there" },
    FILE_WRITE_PARAMS,
    { 0 },
};

static bool read_wish(Call *call, IniWish *wish, Error *err)
{
    *wish = (IniWish){
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
    if (wish->bare && wish->has_value) {
        return error_set(err, ERROR_INVALID, "'bare' and 'value' exclude each other");
    }
    if (!wish->absent && wish->option.len > 0 && !wish->bare && !wish->has_value) {
        return error_set(err, ERROR_INVALID,
                         "needs 'value'; 'bare: true' is for options without one");
    }
    if (wish->option.len == 0 && (wish->has_value || wish->bare)) {
        return error_set(err, ERROR_INVALID, "needs 'option'");
    }
    return ini_wish_check(wish, err);
}

static bool option_check(Call *call, Outcome *outcome, Error *err)
{
    IniWish wish;
    Edit edit;
    if (!read_wish(call, &wish, err) || !edit_begin(call, outcome, &edit, err)) {
        return false;
    }
    if (!edit.skipped) {
        Str text = ini_edit(call->arena, edit.target->old, &wish);
        if (!edit_end_text(&edit, text, value_is_secret(call_param(call, "value")), outcome, err)) {
            return false;
        }
    }
    outcome->state = wish.absent ? STR("absent") : STR("present");
    return true;
}

static void option_claims(Arena *arena, const Value *params, List *claims)
{
    target_claims(arena, option_params, params, claims);
}

static const Action actions[] = {
    { "option", "Ensure that an INI file has an option, or does not.", option_params, option_check,
      target_apply_one, .claims = option_claims, .thing = "path name", .part = "section option",
      .wants = "kind=file",
      .text =
          "Comments, order and spacing stay as they are; a new option goes behind a comment that\n"
          "shows it ('#port = 80'), or behind the last one of its section, and is written as that\n"
          "one is. A missing section is added at the end.\n"
          "\n"
          "Of several options of the same name one stays and has the value; with 'exclusive:\n"
          "false' a further one is added, as systemd reads them. With 'state: absent' all of\n"
          "them go, or those that have 'value'; without 'option' the whole section goes.\n"
          "\n"
          "Lines that are indented further than their option, or that follow a backslash, belong\n"
          "to its value; a 'value' of several lines is written so. Quotes are part of a value.\n",
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
    .help = "Options of INI files.",
    .id_param = "name",
    .actions = actions,
};
