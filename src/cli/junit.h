/* JUnit XML, for build servers. */
#pragma once

#include "base/buf.h"
#include "model/decide.h"

typedef struct JunitSuite {
    Str name, hostname;
    uint32_t tests, failures, errors, skipped;
    int64_t duration_us;
} JunitSuite;

typedef struct JunitCase {
    Str class_name, name;
    int64_t duration_us;
    StepResult result;
    Str message; /* reason of a failed, blocked, waiting or skipped step */
    Str text;    /* details of a failure */
} JunitCase;

void junit_open(Buf *out); /* root element for several suites: <testsuites> */
void junit_close(Buf *out);
void junit_declare(Buf *out); /* XML declaration for a single suite */
void junit_open_suite(Buf *out, const JunitSuite *suite);
void junit_put_case(Buf *out, const JunitCase *test);
void junit_close_suite(Buf *out);
/* Counts a result in its suite. */
void junit_count(JunitSuite *suite, StepResult result);
