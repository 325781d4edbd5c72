#include "cli/run_junit.h"

#include "cli/junit.h"
#include "sys/file.h"

static Str message_of(const StepReport *report)
{
    return report->status.result != RESULT_FAILED ? report->reason
           : report->error != NULL                ? report->error->message
                                                  : STR_EMPTY;
}

bool run_junit_write(const RunReport *report, const char *path, Error *err)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    JunitSuite suite = { .name = report->planning ? STR("eden plan") : STR("eden apply"),
                         .hostname = report->node,
                         .duration_us = report->duration_us };
    for (uint32_t i = 0; i < report->steps->count; i++) {
        junit_count(&suite, report->items[i].status.result);
    }
    junit_declare(&out);
    junit_open_suite(&out, &suite);
    for (uint32_t i = 0; i < report->steps->count; i++) {
        const Step *step = &report->steps->items[i];
        const StepReport *item = &report->items[i];
        junit_put_case(&out, &(JunitCase){ .class_name = step->spec->job->name,
                                           .name = step->name,
                                           .duration_us = item->duration_us,
                                           .result = item->status.result,
                                           .message = message_of(item),
                                           .text = item->shown_error_out });
    }
    junit_close_suite(&out);
    return file_write_atomic(path, buf_str(&out), err);
}
