/* Makes libyaml accept what YAML 1.2 allows and libyaml rejects.
 *
 * The parser reads a copy of the source, of the same length, in which the rejected location is
 * rewritten to an equivalent form that libyaml accepts; then the source is parsed again. Since all
 * lengths are preserved, every location stays correct, and the text of values comes from the
 * original. Sources that libyaml accepts at once, which are nearly all, never get here.
 *
 * Each repair costs another pass, so their number is limited, and large sources get few or none. */
#include "base/utf8.h"
#include "lang/yaml_load.h"

enum {
    REPAIR_BYTES_MAX = 4 << 20, /* bytes to parse again, for all repairs together */
};

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_flow_indicator(char c)
{
    return c != '\0' && strchr(",[]{}", c) != NULL;
}

static char char_at(const YamlLoad *load, size_t pos)
{
    return pos < load->text.len ? load->text.data[pos] : '\0';
}

/* Whether the parser would accept every character, so that a repair cannot hide an invalid one. */
static bool is_clean(Str text)
{
    if (!utf8_is_valid(text)) {
        return false;
    }
    for (size_t pos = 0; pos < text.len;) {
        uint32_t code = utf8_next(text, &pos);
        bool control = code < 0x20 && code != '\t' && code != '\n' && code != '\r';
        if (control || (code >= 0x7f && code < 0xa0 && code != 0x85) || code == 0xfeff ||
            code == 0xfffe || code == 0xffff) {
            return false;
        }
    }
    return true;
}

bool yaml_repair_make_copy(YamlLoad *load)
{
    if (load->repair.copy == NULL) {
        load->repair.copy = arena_try_alloc(load->arena, load->text.len + 1);
        if (load->repair.copy == NULL) {
            return false;
        }
        memcpy(load->repair.copy, load->text.data, load->text.len);
    }
    return true;
}

/* Whether another repair is allowed; if so, there is a copy to change. */
static bool begin(YamlLoad *load)
{
    YamlRepair *repair = &load->repair;
    if (repair->needs_reparse) {
        return true; /* several locations in one pass */
    }
    if (repair->count >= YAML_REPAIRS_MAX ||
        load->text.len > REPAIR_BYTES_MAX / (repair->count + 1)) {
        return false;
    }
    if (repair->count == 0 && !is_clean(str_from_offset(load->text, load->base))) {
        return false;
    }
    if (!yaml_repair_make_copy(load)) {
        return false;
    }
    repair->count++;
    repair->needs_reparse = true;
    return true;
}

static void add_fix(YamlLoad *load, uint32_t start, Str text)
{
    YamlRepair *repair = &load->repair;
    repair->fixes[repair->fix_count++] = (YamlFix){ start, text };
}

static int parent_indent(const YamlLoad *load)
{
    return load->depth == 0 ? -1 : (int)load->frames[load->depth - 1].column;
}

/* --- Document markers and directives ------------------------------------------------------ */

bool yaml_repair_comment(YamlLoad *load, uint32_t pos)
{
    if (!begin(load)) {
        return false;
    }
    load->repair.copy[pos] = '#';
    return true;
}

bool yaml_repair_document(YamlLoad *load, uint32_t dots)
{
    if (!begin(load)) {
        return false;
    }
    memcpy(load->repair.copy + dots, "---", 3);
    return true;
}

/* --- Tabs --------------------------------------------------------------------------------- */

/* Tabs may separate tokens and occur in blank lines, but not in indentation. Whether the
 * following text needs indentation is known only when it is parsed: yaml_repair_is_tabbed(). */
static bool repair_tab(YamlLoad *load, size_t pos, bool in_text)
{
    size_t start = pos, end = pos;
    while (start > load->base && is_blank(load->text.data[start - 1])) {
        start--;
    }
    while (is_blank(char_at(load, end))) {
        end++;
    }
    char next = char_at(load, end);
    bool line_ends = end == load->text.len || is_break(next) || next == '#';
    if (!line_ends) {
        bool line_starts = start == load->base || is_break(load->text.data[start - 1]);
        size_t spaces = 0;
        while (load->text.data[start + spaces] == ' ') {
            spaces++;
        }
        if (in_text || (line_starts && (int)spaces <= parent_indent(load))) {
            return false;
        }
    }
    if (!begin(load)) {
        return false;
    }
    memset(load->repair.copy + start, ' ', end - start);
    load->repair.tabs[load->repair.tab_count++] = (uint32_t)end;
    return true;
}

bool yaml_repair_is_tabbed(const YamlLoad *load, uint32_t start)
{
    for (unsigned i = 0; i < load->repair.tab_count; i++) {
        if (load->repair.tabs[i] == start) {
            return true;
        }
    }
    return false;
}

/* --- Flow collections --------------------------------------------------------------------- */

/* The key of a flow map may extend over several lines, and its ':' may be on another: then all of
 * it is moved to one line, and the text of the key is stored as parsed. */
static bool repair_flow_key(YamlLoad *load, uint32_t colon)
{
    const YamlFrame *frame = load->depth == 0 ? NULL : &load->frames[load->depth - 1];
    if (frame == NULL || !frame->is_map || !frame->flow || char_at(load, colon) != ':' ||
        load->stack_len < frame->first + 2 || char_at(load, frame->start) != '{') {
        return false;
    }
    Value key = load->stack[load->stack_len - 2];
    Value nothing = load->stack[load->stack_len - 1];
    if (key.kind > VALUE_STRING || nothing.kind != VALUE_NULL || nothing.span > 0 || !begin(load)) {
        return false;
    }
    bool comment = false, changed = false;
    for (size_t pos = key.start; pos < colon; pos++) {
        bool line_ends = is_break(load->text.data[pos]);
        bool in_key = pos < (size_t)key.start + key.span;
        comment = !line_ends && (comment || (!in_key && load->text.data[pos] == '#'));
        if (line_ends && in_key && !changed && key.kind == VALUE_STRING) {
            add_fix(load, key.start, arena_copy(load->arena, value_str(key)));
            changed = true;
        }
        if (line_ends || comment) {
            load->repair.copy[pos] = ' ';
        }
    }
    return true;
}

/* Inside brackets plain text may start with ':' or '?' if no space follows. */
static bool repair_plain_start(YamlLoad *load, uint32_t pos)
{
    char next = char_at(load, (size_t)pos + 1);
    if (load->flow_depth == 0 || next == '\0' || ascii_is_space(next) || is_flow_indicator(next) ||
        !begin(load)) {
        return false;
    }
    load->repair.copy[pos] = 'x';
    return true;
}

bool yaml_repair_question(YamlLoad *load, uint32_t start)
{
    if (start == 0 || char_at(load, start - 1) != '?' ||
        (load->repair.copy != NULL && load->repair.copy[start - 1] != '?')) {
        return false;
    }
    return repair_plain_start(load, start - 1);
}

/* --- Block scalars ------------------------------------------------------------------------ */

/* Hides the lines of the scalar from the parser; its text is parsed here. */
static bool repair_block(YamlLoad *load, uint32_t start)
{
    YamlBlock block;
    if (!yaml_block_read(load, start, parent_indent(load), &block) || !begin(load)) {
        return false;
    }
    for (size_t pos = block.content; pos < block.end; pos++) {
        if (!is_break(load->text.data[pos])) {
            load->repair.copy[pos] = ' ';
        }
    }
    add_fix(load, start, block.text);
    return true;
}

bool yaml_repair_root_block(YamlLoad *load, uint32_t start)
{
    Str text = load->text;
    size_t pos = yaml_block_header(text, start).content;
    while (pos < text.len && is_break(text.data[pos])) {
        pos = yaml_text_next_line(text, pos);
    }
    if (pos >= text.len || text.data[pos] == ' ' || yaml_text_is_marker(text, pos, '-') ||
        yaml_text_is_marker(text, pos, '.')) {
        return false;
    }
    return repair_block(load, start);
}

/* --- Anchors ------------------------------------------------------------------------------ */

Str yaml_repair_name(const YamlLoad *load, uint32_t pos)
{
    size_t end = (size_t)pos + 1;
    while (end < load->text.len && !ascii_is_space(load->text.data[end]) &&
           !is_flow_indicator(load->text.data[end])) {
        end++;
    }
    return str_slice(load->text, (size_t)pos + 1, end);
}

bool yaml_repair_anchor(YamlLoad *load, uint32_t pos)
{
    Str name = yaml_repair_name(load, pos);
    if (name.len == 0 || !begin(load)) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_name(name.data[i]) && name.data[i] != '-') {
            load->repair.copy[pos + 1 + i] = 'x';
        }
    }
    return true;
}

/* --- Choosing a repair -------------------------------------------------------------------- */

bool yaml_repair_syntax(YamlLoad *load)
{
    const yaml_parser_t *parser = &load->parser;
    const char *problem = parser->problem == NULL ? "" : parser->problem;
    const char *context = parser->context == NULL ? "" : parser->context;
    if (parser->error == YAML_READER_ERROR) {
        return false;
    }
    uint32_t pos = yaml_load_offset(load, parser->problem_mark.index);
    uint32_t context_at = yaml_load_offset(load, parser->context_mark.index);
    if (strcmp(context, "while scanning a block scalar") == 0) {
        return char_at(load, pos) == '\t' && repair_block(load, context_at);
    }
    if (char_at(load, pos) == '\t') {
        return repair_tab(load, pos, strcmp(context, "while scanning a plain scalar") == 0);
    }
    if (strcmp(context, "while scanning an anchor") == 0) {
        return yaml_repair_anchor(load, context_at);
    }
    if (strcmp(context, "while scanning an alias") == 0) {
        return yaml_load_has_anchor(load, yaml_repair_name(load, context_at)) &&
               yaml_repair_anchor(load, context_at);
    }
    if (strcmp(problem, "did not find expected ',' or '}'") == 0) {
        return repair_flow_key(load, pos);
    }
    if (strcmp(problem, "did not find expected node content") == 0) {
        return char_at(load, pos) == ':' && repair_plain_start(load, pos);
    }
    return false;
}

/* --- Restoring the original text ------------------------------------------------------------ */

bool yaml_repair_text(YamlLoad *load, const yaml_event_t *event, uint32_t start, uint32_t end,
                      Str *text)
{
    const YamlRepair *repair = &load->repair;
    for (unsigned i = 0; i < repair->fix_count; i++) {
        if (repair->fixes[i].start == start) {
            *text = repair->fixes[i].text;
            return true;
        }
    }
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && start < end &&
        repair->copy[start] == 'x' && load->text.data[start] != 'x') {
        char *whole = memcpy(arena_alloc(load->arena, text->len), text->data, text->len);
        whole[0] = load->text.data[start];
        text->data = whole;
    }
    return false;
}
