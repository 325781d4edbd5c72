/* Python's three ways of formatting a value: format(value, spec), str.format and the % operator
 * (op_printf in ops.h). They share number formatting and padding. */
#pragma once

#include "lang/template/ops.h"

typedef struct FormatSpec {
    uint32_t fill; /* code point */
    char align;    /* < > ^ =, or 0 if absent */
    char sign;     /* + - space, or 0 if absent */
    char grouping; /* , _, or 0 if absent */
    char type;     /* a letter or %, or 0 if absent */
    bool alternate;
    bool positive_zero; /* `z`: negative zero is printed without sign */
    int64_t width;      /* -1 if absent */
    int64_t precision;  /* -1 if absent */
} FormatSpec;

enum {
    FORMAT_DIGITS_MAX = 64 /* of an integer in any base */
};

/* The parts of a number: [sign][prefix][digits][rest]. Only the digits are grouped. */
typedef struct FormatNumber {
    bool negative;
    Str prefix; /* such as 0x */
    Str digits;
    Str suffix; /* point, fraction, exponent, percent sign; also inf and nan */
} FormatNumber;

/* Includes padding; `fallback_align` applies if the spec has no alignment. */
void format_put_number(const FormatSpec *spec, const FormatNumber *number, char fallback_align,
                       Buf *out);
void format_put_text(const FormatSpec *spec, Str text, char fallback_align, Buf *out);

/* Formats `magnitude` in base 2, 8, 10 or 16 at the end of `buffer`. */
Str format_digits(uint64_t magnitude, unsigned base, bool upper, char buffer[FORMAT_DIGITS_MAX]);
/* Splits a formatted float into the parts of a number. */
FormatNumber format_split_float(Str text);
/* number_put_float_spec, with the precision checked against the budget. */
bool format_put_float(Render *r, double x, const FormatSpec *spec, int64_t precision, Buf *out);
/* The first `count` code points. */
Str format_cut(Str text, int64_t count);
/* ascii(v): repr() with everything beyond ASCII escaped. */
bool format_ascii(Render *r, Value v, Buf *out);

/* format(v, spec) */
bool format_value(Render *r, Value v, Str spec, Buf *out);

/* The arguments of str.format. */
typedef struct FormatArgs {
    const Value *values; /* {0} {1} {} */
    uint32_t count;
    const Map *named;   /* {name}; may be NULL */
    bool escape;        /* for Markup.format: arguments are escaped */
    bool no_positional; /* for format_map, where {0} and {} are errors */
} FormatArgs;

bool format_fields(Render *r, Str format, const FormatArgs *args, Buf *out);
