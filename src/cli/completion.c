#include "cli/completion.h"

#include "api/kind.h"
#include "cli/subject.h"
#include "facts/facts.h"

const Shell shells[] = {
    { "bash", completion_write_bash },
    { "zsh", completion_write_zsh },
    { "fish", completion_write_fish },
    { 0 },
};

void completion_put_choices(const char *choices, Buf *out)
{
    Str rest = str_from_c(choices), choice;
    while (str_split_next(&rest, '|', &choice)) {
        /* What follows "=" is for people. */
        size_t equals = str_find(choice, STR("="), 0);
        buf_put_c(out, choice.data == choices ? "" : " ");
        buf_put(out, equals == STR_NOT_FOUND ? choice : str_slice(choice, 0, equals + 1));
    }
}

void completion_put_commands(Buf *out)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_put_format(out, "%s%s", i == 0 ? "" : " ", commands[i]->name);
    }
}

static void completion_put_topics(Buf *out)
{
    completion_put_commands(out);
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        buf_put_format(out, " %s", topic->name);
    }
}

const char *completion_live(WordKind word)
{
    switch (word) {
    case WORD_NODE: return "node";
    case WORD_TOKEN: return "token";
    case WORD_ROLE: return "role";
    case WORD_CONTEXT: return "context";
    default: return NULL;
    }
}

static void put_facts(Buf *out)
{
    for (size_t i = 0; facts[i] != NULL; i++) {
        buf_put_format(out, "%s%s", i == 0 ? "" : " ", facts[i]->name);
    }
}

static void put_kinds(Buf *out)
{
    buf_put_c(out, "openapi");
    for (size_t i = 0; kinds[i] != NULL; i++) {
        buf_put_format(out, " %s", kinds[i]->name);
    }
}

static void put_settings(Buf *out)
{
    const RecordField *fields = kind_find(STR("Config"))->spec;
    for (size_t i = 0; fields[i].name != NULL; i++) {
        buf_put_format(out, "%s%s=", i == 0 ? "" : " ", fields[i].name);
    }
}

bool completion_put_words(WordKind word, Buf *out)
{
    switch (word) {
    case WORD_COMMAND: completion_put_commands(out); return true;
    case WORD_TOPIC: completion_put_topics(out); return true;
    case WORD_FACT: put_facts(out); return true;
    case WORD_KIND: put_kinds(out); return true;
    case WORD_SETTING: put_settings(out); return true;
    default: return false;
    }
}
