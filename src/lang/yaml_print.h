/* What yaml_print.c and yaml_print_string.c share: one print in progress. Not for others. */
#pragma once

#include "lang/yaml.h"

typedef struct YamlPrint {
    Buf *out;
    YamlStyle style;
    Error *err;
    size_t line; /* where the current line starts in `out` */
    bool secret; /* inside of a value that is marked already */
} YamlPrint;

typedef struct YamlPosition {
    uint32_t indent; /* of the container; text of several lines goes further in */
    bool flow;
    bool key;
} YamlPosition;

/* Ends the line and indents the next. */
void yaml_print_line(YamlPrint *print, uint32_t indent);
/* Whether the current line is longer than the style wants. */
bool yaml_print_is_wide(const YamlPrint *print);
/* The string in the plainest style that reads back as itself. */
void yaml_print_string(YamlPrint *print, Str s, YamlPosition position);
