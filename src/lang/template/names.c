#include "lang/template/names.h"

#include "lang/template/lexer.h"

typedef struct Search {
    Lexer lexer;
    Token token; /* current token */
    Arena *arena;
    List *names;
} Search;

static void advance(Search *search)
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

/* Parses a subscript after its opening bracket and appends it. Returns false if it is not a
 * literal. */
static bool put_key(Search *search, Buf *path)
{
    Token key = search->token;
    advance(search);
    if (search->token.type != TOKEN_RBRACKET) {
        return false;
    }
    advance(search);
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
static void parse_path(Search *search)
{
    Buf path = buf_make_in(search->arena, BUF_UNLIMITED);
    buf_put(&path, search->token.text);
    size_t end = path.len; /* excludes a method call at the end */
    advance(search);
    for (;;) {
        size_t before = path.len;
        if (search->token.type == TOKEN_DOT) {
            advance(search);
            if (search->token.type != TOKEN_NAME) {
                break;
            }
            buf_put_char(&path, '.');
            buf_put(&path, search->token.text);
            advance(search);
        } else if (search->token.type == TOKEN_LBRACKET) {
            advance(search);
            if (!put_key(search, &path)) {
                break;
            }
        } else {
            break;
        }
        end = search->token.type == TOKEN_LPAREN && path.data[before] == '.' ? before : path.len;
    }
    add(search, str_slice(buf_str(&path), 0, end));
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
    advance(&search);
    while (search.token.type != TOKEN_END && search.token.type != TOKEN_FAULT) {
        if (search.token.type == TOKEN_PIPE || search.token.type == TOKEN_DOT) {
            /* Filters, and attributes of unnamed values, are not names of the scope. */
            advance(&search);
            if (search.token.type == TOKEN_NAME) {
                advance(&search);
            }
        } else if (search.token.type == TOKEN_NAME && search.token.word == WORD_OTHER) {
            parse_path(&search);
        } else {
            advance(&search);
        }
    }
}
