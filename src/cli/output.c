#include "cli/output.h"

#include <stdio.h>

#include "lang/json.h"
#include "lang/yaml.h"

static bool print_document(Inputs *inputs, bool json, Value value, Buf *out)
{
    Error err;
    if (json) {
        JsonStyle style = { .lines = true, .indent = 2 };
        if (!json_print(out, value, &style, &err)) {
            problems_add(&inputs->problems, "E0004", NULL, 0, 0, "%s", err.text);
            return false;
        }
        buf_put_char(out, '\n');
        return true;
    }
    if (!yaml_print(out, value, NULL, &err)) {
        problems_add(&inputs->problems, "E0004", NULL, 0, 0, "%s", err.text);
        return false;
    }
    return true;
}

int output_value(Inputs *inputs, const Invocation *invocation, Value value)
{
    List one = { .items = &value, .len = 1 };
    return output_documents(inputs, invocation, &one);
}

int output_documents(Inputs *inputs, const Invocation *invocation, const List *documents)
{
    bool json = strcmp(invocation_text(invocation, "output"), "json") == 0;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    for (uint32_t i = 0; i < documents->len; i++) {
        if (i > 0 && !json) {
            buf_put(&out, STR("---\n"));
        }
        if (!print_document(inputs, json, documents->items[i], &out)) {
            return inputs_report(inputs, invocation);
        }
    }
    fwrite(out.data, 1, out.len, stdout);
    return inputs_report(inputs, invocation);
}
