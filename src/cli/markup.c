/* Escapes text for HTML and Markdown. Invisible and misleading characters are shown as escapes, so
 * that a report cannot be forged by what a node sends. */
#include "cli/markup.h"

#include "base/visible.h"

/* Calls `put` for each visible piece; newlines and tabs are kept. */
static void put_text(Buf *out, Str text, void (*put)(Buf *out, Str piece))
{
    for (size_t at = 0; at < text.len;) {
        char c = text.data[at];
        if (c == '\n' || c == '\t') {
            buf_put_char(out, c);
            at++;
        } else {
            VisiblePiece piece = visible_next(text, &at);
            put(out, str_from(piece.text, piece.bytes));
        }
    }
}

static void put_plain(Buf *out, Str piece)
{
    buf_put(out, piece);
}

static void put_escaped(Buf *out, Str piece)
{
    if (piece.len != 1) {
        buf_put(out, piece);
        return;
    }
    switch (piece.data[0]) {
    case '<': buf_put(out, STR("&lt;")); break;
    case '>': buf_put(out, STR("&gt;")); break;
    case '&': buf_put(out, STR("&amp;")); break;
    case '"': buf_put(out, STR("&quot;")); break;
    case '\'': buf_put(out, STR("&#39;")); break;
    default: buf_put(out, piece);
    }
}

void markup_put(Buf *out, Str text)
{
    put_text(out, text, put_escaped);
}

/* Escape not only markup, but also references (#1, !1, @all, %1, $1, ~label), emoji codes (:tada:)
 * and URLs. */
static bool is_markdown(Str piece, size_t at)
{
    char c = piece.data[at];
    return c != '\0' && strchr("\\`*_{[]#!|~$%@<>&:", c) != NULL;
}

/* A visible piece can itself be an escape with a backslash, so every byte of the piece is
 * escaped. */
void markup_put_markdown(Buf *out, Str text)
{
    for (size_t at = 0; at < text.len;) {
        VisiblePiece visible = visible_next(text, &at);
        Str piece = str_from(visible.text, visible.bytes);
        bool is_plain = str_eq_c(piece, ":") && (at == text.len || text.data[at] == ' ');
        for (size_t i = 0; i < piece.len; i++) {
            if (!is_plain && is_markdown(piece, i)) {
                buf_put_format(out, "&#%d;", piece.data[i]);
            } else {
                buf_put_char(out, piece.data[i]);
            }
        }
    }
}

/* The length of the longest sequence of backticks. */
static size_t ticks_in(Str text)
{
    size_t longest = 0, length = 0;
    for (size_t i = 0; i < text.len; i++) {
        length = text.data[i] == '`' ? length + 1 : 0;
        longest = length > longest ? length : longest;
    }
    return longest;
}

void markup_put_fence(Buf *out, const char *language, Str text)
{
    size_t ticks = ticks_in(text) + 1;
    ticks = ticks < 3 ? 3 : ticks;
    buf_put_repeat(out, '`', ticks);
    buf_put_format(out, "%s\n", language);
    put_text(out, text, put_plain);
    if (text.len > 0 && text.data[text.len - 1] != '\n') {
        buf_put_char(out, '\n');
    }
    buf_put_repeat(out, '`', ticks);
    buf_put_char(out, '\n');
}
