/* What went wrong in a template: the class that a Jinja2 user knows, the message, the place and
 * the templates that led there. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/value.h"

/* FAULT_UNKNOWN is no mistake of anybody: a host object raises it for what is known only while
 * things run, such as the output of a command in a plan. Nothing in a template takes it for an
 * answer: `default`, `is defined` and `ignore missing` fail with it as all else does, because what
 * they would say may turn out wrong.
 *
 * X(constant, name as Jinja2 or Python spells it, code for `eden explain`) */
#define FAULT_CLASSES(X)                                     \
    X(FAULT_NONE, "", "")                                    \
    X(FAULT_SYNTAX, "TemplateSyntaxError", "E0201")          \
    X(FAULT_ASSERTION, "TemplateAssertionError", "E0202")    \
    X(FAULT_NOT_FOUND, "TemplateNotFound", "E0203")          \
    X(FAULT_NONE_FOUND, "TemplatesNotFound", "E0203")        \
    X(FAULT_UNDEFINED, "UndefinedError", "E0204")            \
    X(FAULT_RUNTIME, "TemplateRuntimeError", "E0205")        \
    X(FAULT_PYTHON_RUNTIME, "RuntimeError", "E0205")         \
    X(FAULT_FILTER_ARGUMENT, "FilterArgumentError", "E0206") \
    X(FAULT_TYPE, "TypeError", "E0207")                      \
    X(FAULT_VALUE, "ValueError", "E0208")                    \
    X(FAULT_ASSERT, "AssertionError", "E0208")               \
    X(FAULT_KEY, "KeyError", "E0209")                        \
    X(FAULT_INDEX, "IndexError", "E0209")                    \
    X(FAULT_ATTRIBUTE, "AttributeError", "E0209")            \
    X(FAULT_ZERO_DIVISION, "ZeroDivisionError", "E0210")     \
    X(FAULT_OVERFLOW, "OverflowError", "E0211")              \
    X(FAULT_RECURSION, "RecursionError", "E0212")            \
    X(FAULT_LIMIT, "LimitError", "E0213")                    \
    X(FAULT_UNKNOWN, "UnknownError", "E0214")

typedef enum FaultClass {
#define X(constant, name, code) constant,
    FAULT_CLASSES(X)
#undef X
} FaultClass;

const char *fault_class_name(FaultClass class);
const char *fault_class_code(FaultClass class);

/* One template on the way to the fault, innermost first: where it includes, imports, extends or
 * calls the next one. */
typedef struct FaultOrigin {
    Str template_name;
    uint32_t line;
    Value document; /* as that of the fault, for a render around the one that failed */
    struct FaultOrigin *next;
} FaultOrigin;

/* A loop around the fault, innermost first. */
typedef struct FaultLoop {
    Str template_name;
    uint32_t line;
    uint64_t index; /* of the item, from 0 */
    Str item;       /* its name in quotes, or empty */
    struct FaultLoop *next;
} FaultLoop;

typedef struct Fault {
    FaultClass class;
    Str message;
    Str hint;          /* "did you mean 'upper'?"; may be empty */
    Str fix;           /* what repairs it in the place of what is underlined; may be empty */
    Str template_name; /* the template at fault; empty for text given without a name */
    Str template_text; /* its text, for the excerpt */
    uint32_t offset;   /* byte offset in that text */
    uint32_t span;     /* bytes to underline; 0 when only the point is known */
    uint32_t line;     /* from 1 */
    uint32_t column;
    uint32_t begins; /* line where the tag begins that is not closed; 0: this is no such fault */
    FaultOrigin *origin;
    FaultLoop *loops;
    /* The value of a document that the template is the text of. Known only where the fault came
     * through a host object (inside.h), so that it is not blamed on the template that used it;
     * null otherwise. */
    Value document;
    struct Fault *next; /* a further one in the same template, found while compiling it */
} Fault;
