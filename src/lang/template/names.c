#include "lang/template/names.h"

#include "lang/template/lexer.h"

typedef struct Search {
    Lexer lexer;
    Token token; /* current token */
    Arena *arena;
    List *names;
} Search;

static void step(Search *search)
{
    lexer_next(&search->lexer, &search->token);
}

static void add(Search *search, Str name)
{
    for (uint32_t i = 0; i < search->names->len; i++) {
        if (str_eq(value_str(search->names->items[i]), name)) {
            return;
        }
    }
    list_push(search->arena, search->names, value_string(arena_copy(search->arena, name)));
}

/* Appends the part in brackets and skips it. Returns false if it is not a literal. */
static bool put_key(Search *search, Buf *path)
{
    Token key = search->token;
    step(search);
    if (search->token.type != TOKEN_RBRACKET) {
        return false;
    }
    step(search);
    if (key.type == TOKEN_STRING) {
        buf_put_format(path, "['%" STR_FMT "']", STR_ARG(key.text));
    } else if (key.type == TOKEN_INTEGER && !key.wide) {
        buf_put_format(path, ".%llu", (unsigned long long)key.integer);
    } else {
        return false;
    }
    return true;
}

/* Parses a name and its subscripts. The current token is then the one after them. */
static void take_path(Search *search)
{
    Buf path = buf_make_in(search->arena, BUF_UNLIMITED);
    buf_put(&path, search->token.text);
    size_t whole = path.len; /* length including a last part that is called */
    step(search);
    for (;;) {
        size_t before = path.len;
        if (search->token.type == TOKEN_DOT) {
            step(search);
            if (search->token.type != TOKEN_NAME) {
                break;
            }
            buf_put_char(&path, '.');
            buf_put(&path, search->token.text);
            step(search);
        } else if (search->token.type == TOKEN_LBRACKET) {
            step(search);
            if (!put_key(search, &path)) {
                break;
            }
        } else {
            break;
        }
        whole = search->token.type == TOKEN_LPAREN && path.data[before] == '.' ? before : path.len;
    }
    add(search, str_slice(buf_str(&path), 0, whole));
}

void template_names(Arena *arena, Str text, bool expression, List *names)
{
    TemplateSettings settings = template_settings_default();
    Fault fault = { 0 };
    Search search = { .arena = arena, .names = names };
    if (!lexer_init(&search.lexer, arena, &settings, text, expression ? LEXER_VARIABLE : LEXER_DATA,
                    &fault)) {
        return;
    }
    step(&search);
    while (search.token.type != TOKEN_END && search.token.type != TOKEN_FAULT) {
        if (search.token.type == TOKEN_PIPE || search.token.type == TOKEN_DOT) {
            /* Filters, and attributes of unnamed values, are not names of the scope. */
            step(&search);
            if (search.token.type == TOKEN_NAME) {
                step(&search);
            }
        } else if (search.token.type == TOKEN_NAME && search.token.word == WORD_OTHER) {
            take_path(&search);
        } else {
            step(&search);
        }
    }
}
