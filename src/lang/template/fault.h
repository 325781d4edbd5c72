/* An error in a template: the exception class as in Jinja2, the message, the location, and the
 * chain of templates that led there. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/value.h"

/* FAULT_UNKNOWN is not a mistake in the template: host objects raise it for values that are only
 * available at run time, such as the output of a command during a plan. No construct of a template
 * catches it: `default`, `is defined` and `ignore missing` fail with it like everything else,
 * because their result could turn out to be wrong.
 *
 * X(constant, name as in Jinja2 or Python, code for `eden explain`) */
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

/* A template on the path to the fault, innermost first: the location where it includes, imports,
 * extends or calls the next one. */
typedef struct FaultOrigin {
    Str template_name;
    uint32_t line;
    Value document; /* see Fault.document; for a render that encloses the failed one */
    struct FaultOrigin *next;
} FaultOrigin;

/* A loop around the fault, innermost first. */
typedef struct FaultLoop {
    Str template_name;
    uint32_t line;
    uint64_t index; /* index of the item, from 0 */
    Str item;       /* name in quotes, or empty */
    struct FaultLoop *next;
} FaultLoop;

typedef struct Fault {
    FaultClass class;
    Str message;
    Str hint;          /* "did you mean 'upper'?"; may be empty */
    Str fix;           /* replacement for the underlined text that fixes the fault; may be empty */
    Str template_name; /* name of the faulty template; empty for an unnamed string */
    Str template_text; /* its source, for the excerpt */
    uint32_t offset;   /* byte offset in the source */
    uint32_t span;     /* bytes to underline; 0 if only the offset is known */
    uint32_t line;     /* from 1 */
    uint32_t column;
    uint32_t begins; /* line of the opening tag that is not closed; 0 for other faults */
    FaultOrigin *origin;
    FaultLoop *loops;
    /* The document value whose text is the template. Set only if the fault was raised through a
     * host object (host_object.h), so that it is not attributed to the template that used the
     * object; null otherwise. */
    Value document;
    struct Fault *next; /* next fault in the same template, found by the same compilation */
} Fault;
