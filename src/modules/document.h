/* One value of a file that holds a document: what json.value and yaml.value share. */
#pragma once

#include "lang/edit/document.h"
#include "modules/file/target.h"

#define DOCUMENT_PARAMS                                                                         \
    { "name", PARAM_PATH, .required = true, .help = "the path of the file" },                   \
        { "path", PARAM_ANY, .required = true,                                                  \
          .help = "where it is in the file: 'server.port', '/server/port' or a list of keys" }, \
        { "value", PARAM_ANY, .decides = "value",                                               \
          .help = "what it is set to: text, number, list, map" },                               \
        { "state",                                                                              \
          PARAM_STRING,                                                                         \
          .decides = "state",                                                                   \
          .fallback = "present",                                                                \
          .choices = "present|absent",                                                          \
          .help = "whether it shall be in the file" },                                          \
        { "create", PARAM_BOOL, .fallback = "false",                                            \
          .help = "make the file when it is not there" },                                       \
        FILE_WRITE_PARAMS

MUST_CHECK bool document_check(Call *call, const DocumentFormat *format, Outcome *outcome,
                               Error *err);
