/* Any bytes as YAML: they end in values or in problems that can be shown, and never take more
 * memory than their budget. */
#include <stdint.h>

#include "base/arena.h"
#include "base/bug.h"
#include "lang/yaml.h"

enum {
    BUDGET = 64 << 20
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, BUDGET);
    Sources sources;
    sources_init(&sources, &arena);
    Problems problems;
    problems_init(&problems, &arena);
    uint16_t source = sources_add(&sources, STR("fuzz.yaml"), str_from((const char *)data, size));

    YamlOptions options = yaml_options_default;
    options.lint = true;
    List *documents;
    bool loaded = yaml_load_all(&arena, &sources, source, &options, &documents, &problems);
    BUG_IF(loaded != (problems.errors == 0));
    BUG_IF(arena.held > 2 * (size_t)BUDGET);

    AUTO_CLEAR(Buf) shown = buf_make(BUF_UNLIMITED);
    problems_print(&problems, (ProblemStyle){ .color = true }, &shown);
    problems_print_json(&problems, &shown);
    return 0;
}
