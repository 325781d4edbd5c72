/* What the files behind yaml_load() share: one load in progress. Not for others.
 *
 * yaml_load.c drives libyaml, yaml_node.c turns its events into values, yaml_build.c makes
 * containers, yaml_schema.c resolves plain scalars and tags, and tells of tags that mean nothing,
 * yaml_strict.c finds what libyaml lets pass, yaml_repair.c, yaml_block.c and yaml_breaks.c read what
 * libyaml does not, yaml_problem.c tells syntax errors to people. */
#pragma once

#include <yaml.h>

#include "lang/yaml.h"

typedef struct YamlFrame {
    uint32_t first;  /* where its children start on the value stack */
    uint32_t start;  /* byte offset, behind anchor and tag */
    uint32_t end;    /* byte offset behind its last child */
    uint32_t column; /* of a block collection: its indentation */
    uint32_t anchor; /* 1 + index into anchors, 0 for none */
    uint32_t merge;  /* 1 + stack index of a `<<` key, 0 for none */
    uint32_t below;  /* depth of what it holds so far */
    uint64_t nodes;  /* values in it so far, aliases expanded; itself included */
    bool is_map;
    bool flow;
    bool secret;
    bool template; /* `{{` ... `}}` without quotes: read as a map in a map */
} YamlFrame;

typedef struct YamlAnchor {
    Value value;
    uint64_t nodes;
    uint32_t depth;
    bool open; /* its container has not ended yet */
} YamlAnchor;

enum {
    YAML_REPAIRS_MAX = 64,
    YAML_BREAKS = 3,
};

/* The text of a scalar that the parser is not shown as it stands. */
typedef struct YamlFix {
    uint32_t start;
    Str text;
} YamlFix;

/* See yaml_repair.c. */
typedef struct YamlRepair {
    char *copy; /* what the parser reads instead of the text; NULL while that is the text */
    bool again; /* the copy was changed: read once more */
    unsigned count;
    unsigned fix_count;
    unsigned tab_count;
    YamlFix fixes[YAML_REPAIRS_MAX];
    uint32_t tabs[YAML_REPAIRS_MAX]; /* where text starts behind tabs that became spaces */
} YamlRepair;

typedef struct YamlLoad {
    Arena *arena;
    const Source *source;
    uint16_t source_id;
    Str text;
    YamlOptions options;
    Problems *problems;
    yaml_parser_t parser;
    YamlRepair repair;
    bool has_breaks; /* see yaml_breaks.c */
    char stand_ins[YAML_BREAKS][4];

    /* libyaml counts characters, places count bytes: up to `ascii` both are the same but for
     * `base`, behind it a cursor walks along. */
    size_t base; /* bytes of the text that the parser does not see: a byte order mark */
    size_t ascii;
    size_t cursor_index;
    size_t cursor_offset;

    Value *stack; /* finished values whose containers are still open */
    uint32_t stack_len;
    uint32_t stack_cap;
    YamlFrame *frames;
    uint32_t depth;
    uint32_t flow_depth;

    Map *anchor_names;
    YamlAnchor *anchors;
    uint32_t anchor_count;
    uint32_t anchor_cap;

    uint32_t nodes;
    uint32_t aliases;
    uint64_t expanded;
    char *text_next; /* room for short strings */
    size_t text_room;

    /* The node before a syntax error often explains it. */
    uint32_t last_start;
    uint32_t last_end;
    bool last_quoted;
    uint32_t template_line_end; /* end of the line of the last unquoted template, 0: none */
    bool document_open_ended;   /* the last document ended without `...` */
} YamlLoad;

/* Byte offset of a position that libyaml gives in characters. */
uint32_t yaml_load_offset(YamlLoad *load, size_t index);
/* Whether one more problem is worth finding: all have a maximum, large texts a small one. */
bool yaml_load_has_room(const YamlLoad *load);
/* Tells that a limit is reached; always false. */
bool yaml_load_limit(YamlLoad *load, uint32_t at, const char *what, uint64_t limit);
/* Whether the arena's budget has room for a large block; if not, the load ends at its next
 * check. Small blocks need not ask. */
bool yaml_load_charge(YamlLoad *load, size_t size);
/* The text as the parser sees it. */
Str yaml_load_seen(const YamlLoad *load);
bool yaml_load_knows_anchor(const YamlLoad *load, Str name);
bool yaml_load_check_memory(YamlLoad *load, uint32_t at);
/* The text of a value as its author wrote it, short enough for a message. */
Str yaml_load_shown(const YamlLoad *load, Value v);

/* One event each; false ends the load. */
bool yaml_node_scalar(YamlLoad *load, const yaml_event_t *event);
bool yaml_node_alias(YamlLoad *load, const yaml_event_t *event);
bool yaml_node_open(YamlLoad *load, const yaml_event_t *event, const yaml_char_t *anchor,
                    const yaml_char_t *tag, bool flow);
bool yaml_node_close(YamlLoad *load, const yaml_event_t *event);

/* Makes a container that stands as a key one; when it cannot be one, tells so and goes on with
 * a string. */
void yaml_build_key(YamlLoad *load, YamlFrame *frame, Value *v);
/* The list or map of all values on the stack since the frame's first. */
Value yaml_build_container(YamlLoad *load, const YamlFrame *frame);
/* After a syntax error: the maps that are still open show their duplicate keys. */
void yaml_build_check_open(YamlLoad *load);

typedef enum YamlScalar {
    YAML_SCALAR_FITS,
    YAML_SCALAR_TOO_BIG,   /* an integer beyond 64 bits */
    YAML_SCALAR_WRONG_TAG, /* the text is not what its tag says */
} YamlScalar;

/* The value of a plain scalar without tag, null when it does not fit. Strings keep pointing to
 * `text`. */
YamlScalar yaml_schema_resolve(Str text, Value *out);
/* The same with a tag of the core schema; `text` of any style. Tags that this schema does not
 * know leave the value as if there was none: a string when `quoted`. */
YamlScalar yaml_schema_resolve_tagged(Str text, Str tag, bool quoted, Value *out);
/* Whether a container may have this tag. */
bool yaml_schema_tag_fits(Str tag, bool is_map);
/* "str" of "tag:yaml.org,2002:str"; else the whole tag. */
Str yaml_schema_tag_name(Str tag);
/* Plain words and numbers that YAML 1.1 reads as another value: the hint for it, or NULL. */
const char *yaml_schema_surprise(Str text, const char **code);

/* Tells of a tag, written between `at` and `end`, that means nothing here. */
void yaml_tag_check(YamlLoad *load, Str tag, uint32_t at, uint32_t end);

/* Checks beyond libyaml's. Each adds a problem and returns false when it finds one. */
/* Of the lines between documents: `dots` is the offset of the `...` before them, or UINT32_MAX.
 * Also false when a repair was made. */
bool yaml_strict_prologue(YamlLoad *load, uint32_t from, uint32_t dots);
bool yaml_strict_scalar(YamlLoad *load, const yaml_event_t *event, uint32_t start, uint32_t end);
bool yaml_strict_flow_start(YamlLoad *load, uint32_t start);
bool yaml_strict_flow_end(YamlLoad *load, const YamlFrame *frame, uint32_t end);
bool yaml_strict_block_start(YamlLoad *load, uint32_t start);
/* In a flow collection, what stands between a child that ends at `end` and the next. */
bool yaml_strict_separator(YamlLoad *load, uint32_t end);

/* Tells the error at which libyaml stopped. */
void yaml_problem_syntax(YamlLoad *load);
/* Tells that the bytes from `start` to `end` are a template that wants quotes; `bracketed` when
 * it stands in a flow collection. */
void yaml_problem_template(YamlLoad *load, uint32_t start, uint32_t end, bool bracketed);

/* Offset of the end of the line at `at`, and of the line behind it. */
size_t yaml_text_line_end(Str text, size_t at);
size_t yaml_text_next_line(Str text, size_t at);
/* Whether a line `---` or `...` starts there. */
bool yaml_text_is_marker(Str text, size_t at, char c);

typedef struct YamlBlockHeader {
    uint32_t end;     /* behind its last indicator */
    uint32_t content; /* start of the next line */
    char chomp;       /* '+', '-', or ' ' for neither */
    bool folded;
    bool has_indent; /* with an indentation indicator */
} YamlBlockHeader;

typedef struct YamlBlock {
    uint32_t content; /* where its lines start */
    uint32_t end;     /* and end */
    Str text;         /* in the arena */
} YamlBlock;

YamlBlockHeader yaml_block_header(Str text, uint32_t start);
/* Reads the block scalar at `start` inside of a container indented by `parent` (-1: none). False
 * when it has an indentation indicator, which libyaml reads well, or is wrong. */
bool yaml_block_read(YamlLoad *load, uint32_t start, int parent, YamlBlock *out);

/* Hides characters that libyaml takes for line breaks; false when that cannot be. */
bool yaml_breaks_hide(YamlLoad *load);
/* Puts them back into the text of a scalar. */
Str yaml_breaks_restore(YamlLoad *load, Str text);

/* Sees that there is a copy to change; false when memory does not allow it. */
bool yaml_repair_make_copy(YamlLoad *load);
/* Each returns true when the text is to be read again, because it was repaired. */
bool yaml_repair_syntax(YamlLoad *load);
/* Makes the line at `at`, a directive or a lone `...`, a comment. */
bool yaml_repair_comment(YamlLoad *load, uint32_t at);
/* Makes a `...` before a document without `---` this `---`. */
bool yaml_repair_document(YamlLoad *load, uint32_t dots);
/* When a plain text that starts with '?' was taken for a key without that. */
bool yaml_repair_question(YamlLoad *load, uint32_t start);
/* When the text of a block scalar that is the whole document is not indented. */
bool yaml_repair_root_block(YamlLoad *load, uint32_t start);
/* When the name behind the '&' or '*' at `at` has characters that libyaml does not take. */
bool yaml_repair_anchor(YamlLoad *load, uint32_t at);

/* The name of the anchor or alias at `at`. */
Str yaml_repair_name(const YamlLoad *load, uint32_t at);
/* Puts the text that really stands there in the place of what the parser saw; true when it is
 * one that was read here. Only for texts with a copy. */
bool yaml_repair_text(YamlLoad *load, const yaml_event_t *event, uint32_t start, uint32_t end,
                      Str *text);
bool yaml_repair_is_tabbed(const YamlLoad *load, uint32_t start);
