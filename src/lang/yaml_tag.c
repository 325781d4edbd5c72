/* Tags that eden has no meaning for. Reading on as if they were not there gives a value that its
 * author did not mean, such as the ciphertext of a vault, so they are told of. */
#include "base/suggest.h"
#include "lang/yaml_load.h"

/* What people bring along from elsewhere, by the start of the tag. */
static const struct Foreign {
    const char *tag;
    bool whole; /* the tag is this, and does not only start with it */
    const char *hint;
} foreign[] = {
    { "!vault", true, "decrypt the value first; mark it with !secret to keep it out of messages" },
    { "!vault-encrypted", true, "decrypt the value first, and mark it with !secret" },
    { "!unsafe", true, "remove it: text that was rendered is never taken as a template again" },
    { "!include", false, "one file holds one value; give several with -v, they are merged" },
    { "tag:yaml.org,2002:python/", false, "objects of Python are not made; write a plain value" },
    { "tag:yaml.org,2002:string", true, "did you mean '!!str'?" },
    { "tag:yaml.org,2002:integer", true, "did you mean '!!int'?" },
    { "tag:yaml.org,2002:boolean", true, "did you mean '!!bool'?" },
    { "tag:yaml.org,2002:list", true, "did you mean '!!seq'?" },
    { "tag:yaml.org,2002:dict", true, "did you mean '!!map'?" },
    { "!ruby/", false, "objects of Ruby are not made; write a plain value" },
    { "tag:yaml.org,2002:ruby/", false, "objects of Ruby are not made; write a plain value" },
};

static const char *foreign_hint(Str tag)
{
    for (size_t i = 0; i < COUNT_OF(foreign); i++) {
        Str known = str_from_c(foreign[i].tag);
        if (foreign[i].whole ? str_eq(tag, known) : str_starts(tag, known)) {
            return foreign[i].hint;
        }
    }
    return NULL;
}

static void add_hint(YamlLoad *load, Str tag, Problem *problem)
{
    const char *known = foreign_hint(tag);
    Str own = STR("!secret"), nearest;
    if (known != NULL) {
        problem->hint = str_from_c(known);
        return;
    }
    if (suggest_best(tag, &own, 1, &nearest)) {
        problem->hint = STR("did you mean '!secret'?");
        problem->excerpt = STR_EMPTY; /* what stands there was meant to be hidden */
        return;
    }
    Str name = yaml_schema_tag_name(tag);
    if (name.len > 0 && name.data[0] == '!') {
        name = str_from_offset(name, 1);
    }
    if (yaml_schema_tag_nearest(name, &nearest)) {
        problem->hint =
            arena_format(load->problems->arena, "did you mean '!!%" STR_FMT "'?", STR_ARG(nearest));
        return;
    }
    problem->hint = STR("remove it: the value is read as if it was not there");
}

void yaml_tag_check(YamlLoad *load, Str tag, uint32_t at, uint32_t end)
{
    if (str_eq(tag, STR("!")) || str_eq(tag, STR("!secret")) || yaml_schema_tag_known(tag) ||
        !yaml_load_has_room(load)) {
        return;
    }
    Value written = { .start = at, .span = end - at };
    Problem *problem = problems_add_as(
        load->problems, load->options.strict_tags ? SEVERITY_ERROR : SEVERITY_WARNING, "E0121",
        load->source, at, end - at, "the tag %" STR_FMT " means nothing here",
        STR_ARG(yaml_load_shown(load, written)));
    add_hint(load, tag, problem);
}
