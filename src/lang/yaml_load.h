/* Shared by the files that implement yaml_load(): a load in progress. Private.
 *
 * yaml_load.c drives libyaml, yaml_node.c turns its events into values, yaml_build.c builds
 * containers, yaml_schema.c resolves plain scalars and tags and reports unknown tags, yaml_strict.c
 * detects what libyaml wrongly accepts, yaml_repair.c, yaml_block.c and yaml_breaks.c handle what
 * libyaml wrongly rejects, and yaml_problem.c explains syntax errors. */
#pragma once

#include <yaml.h>

#include "lang/yaml.h"

typedef struct YamlFrame {
    uint32_t first;  /* index of its first child on the value stack */
    uint32_t start;  /* byte offset, after anchor and tag */
    uint32_t end;    /* byte offset after its last child */
    uint32_t column; /* of a block collection: its indentation */
    uint32_t anchor; /* 1 + index into anchors; 0 if none */
    uint32_t merge;  /* 1 + stack index of a `<<` key; 0 if none */
    uint32_t below;  /* depth of its contents so far */
    uint64_t nodes;  /* number of values so far, with aliases expanded; including itself */
    bool is_map;
    bool flow;
    bool secret;
    bool template; /* unquoted `{{` ... `}}`, parsed as a map in a map */
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

/* The text of a scalar that the parser does not see verbatim. */
typedef struct YamlFix {
    uint32_t start;
    Str text;
} YamlFix;

/* See yaml_repair.c. */
typedef struct YamlRepair {
    char *copy; /* what the parser reads instead of the source; NULL if it reads the source */
    bool needs_reparse; /* the copy was changed: parse again */
    unsigned count;
    unsigned fix_count;
    unsigned tab_count;
    YamlFix fixes[YAML_REPAIRS_MAX];
    uint32_t tabs[YAML_REPAIRS_MAX]; /* offsets of text after tabs that became spaces */
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
    char substitutes[YAML_BREAKS][4];

    /* libyaml counts characters, locations count bytes: up to `ascii` both are equal except for
     * `base`, after it a cursor is advanced. */
    size_t base; /* bytes that the parser does not see: a byte order mark */
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
    char *text_next; /* space for short strings */
    size_t text_room;

    /* The node before a syntax error often explains it. */
    uint32_t last_start;
    uint32_t last_end;
    bool last_quoted;
    uint32_t template_line_end; /* end of the line with the last unquoted template; 0 if none */
    bool document_open_ended;   /* the last document ended without `...` */
} YamlLoad;

/* The byte offset of a position that libyaml reports in characters. */
uint32_t yaml_load_offset(YamlLoad *load, size_t index);
/* Whether another problem may be added: the number is limited, and low for large sources. */
bool yaml_load_may_report(const YamlLoad *load);
/* Reports that a limit was exceeded. Always returns false. */
bool yaml_load_limit(YamlLoad *load, uint32_t pos, const char *what, uint64_t limit);
/* Whether the budget of the arena permits a large block; if not, the load ends at its next check.
 * Small blocks need no check. */
bool yaml_load_charge(YamlLoad *load, size_t size);
/* The text that the parser sees. */
Str yaml_load_parsed_text(const YamlLoad *load);
bool yaml_load_has_anchor(const YamlLoad *load, Str name);
bool yaml_load_check_memory(YamlLoad *load, uint32_t pos);
/* The text of a value as written, shortened for a message. */
Str yaml_load_excerpt(const YamlLoad *load, Value v);

/* Handle one event each; returning false ends the load. */
bool yaml_node_scalar(YamlLoad *load, const yaml_event_t *event);
bool yaml_node_alias(YamlLoad *load, const yaml_event_t *event);
bool yaml_node_open(YamlLoad *load, const yaml_event_t *event, const yaml_char_t *anchor,
                    const yaml_char_t *tag, bool flow);
bool yaml_node_close(YamlLoad *load, const yaml_event_t *event);

/* Converts a container to a key; if that is impossible, reports it and continues with a string. */
void yaml_build_key(YamlLoad *load, YamlFrame *frame, Value *v);
/* The list or map of all values on the stack from the frame's first child on. */
Value yaml_build_container(YamlLoad *load, const YamlFrame *frame);
/* After a syntax error: reports duplicate keys of maps that are still open. */
void yaml_build_check_open(YamlLoad *load);

typedef enum YamlScalar {
    YAML_SCALAR_FITS,
    YAML_SCALAR_TOO_BIG,   /* integer beyond 64 bits */
    YAML_SCALAR_WRONG_TAG, /* the text does not match its tag */
} YamlScalar;

/* The value of a plain scalar without tag; null if it does not match. Strings keep pointing to
 * `text`. */
YamlScalar yaml_schema_resolve(Str text, Value *out);
/* The same with a tag of the core schema; `text` of any style. With a tag outside the schema, the
 * value is as without tag: a string if `quoted`. */
YamlScalar yaml_schema_resolve_tagged(Str text, Str tag, bool quoted, Value *out);
/* Whether a container may have this tag. */
bool yaml_schema_tag_matches(Str tag, bool is_map);
/* "str" for "tag:yaml.org,2002:str"; otherwise the entire tag. */
Str yaml_schema_tag_name(Str tag);
/* The hint for a plain word or number with a different value in YAML 1.1, or NULL. */
const char *yaml_schema_lint(Str text, const char **code);

/* Reports an unknown tag, written between `pos` and `end`. */
void yaml_tag_check(YamlLoad *load, Str tag, uint32_t pos, uint32_t end);

/* Checks beyond those of libyaml. Each adds a problem and returns false if it fails. */
/* Checks the lines between documents: `dots` is the offset of the preceding `...`, or UINT32_MAX.
 * Also returns false if a repair was made. */
bool yaml_strict_prologue(YamlLoad *load, uint32_t from, uint32_t dots);
bool yaml_strict_scalar(YamlLoad *load, const yaml_event_t *event, uint32_t start, uint32_t end);
bool yaml_strict_flow_start(YamlLoad *load, uint32_t start);
bool yaml_strict_flow_end(YamlLoad *load, const YamlFrame *frame, uint32_t end);
bool yaml_strict_block_start(YamlLoad *load, uint32_t start);
/* In a flow collection, checks what is between a child that ends at `end` and the next one. */
bool yaml_strict_separator(YamlLoad *load, uint32_t end);

/* Reports the error at which libyaml stopped. */
void yaml_problem_syntax(YamlLoad *load);
/* Reports that the bytes from `start` to `end` are a template that must be quoted; `bracketed` if
 * it is in a flow collection. */
void yaml_problem_template(YamlLoad *load, uint32_t start, uint32_t end, bool bracketed);

/* The offset of the end of the line at `pos`, and of the next line. */
size_t yaml_text_line_end(Str text, size_t pos);
size_t yaml_text_next_line(Str text, size_t pos);
/* Whether a line `---` or `...` starts there. */
bool yaml_text_is_marker(Str text, size_t pos, char c);

typedef struct YamlBlockHeader {
    uint32_t end;     /* after its last indicator */
    uint32_t content; /* start of the next line */
    char chomp;       /* '+', '-', or ' ' for neither */
    bool folded;
    bool has_indent; /* has an indentation indicator */
} YamlBlockHeader;

typedef struct YamlBlock {
    uint32_t content; /* where its lines start */
    uint32_t end;     /* and end */
    Str text;         /* in the arena */
} YamlBlock;

YamlBlockHeader yaml_block_header(Str text, uint32_t start);
/* Parses the block scalar at `start` inside a container indented by `parent` (-1 if none). Returns
 * false if it has an indentation indicator, which libyaml handles, or is invalid. */
bool yaml_block_read(YamlLoad *load, uint32_t start, int parent, YamlBlock *out);

/* Replaces characters that libyaml would treat as line breaks; returns false if that is
 * impossible. */
bool yaml_breaks_hide(YamlLoad *load);
/* Restores them in the text of a scalar. */
Str yaml_breaks_restore(YamlLoad *load, Str text);

/* Ensures that there is a copy to change; returns false if memory does not permit it. */
bool yaml_repair_make_copy(YamlLoad *load);
/* Each returns true if the text was repaired and must be parsed again. */
bool yaml_repair_syntax(YamlLoad *load);
/* Turns the line at `pos`, a directive or a lone `...`, into a comment. */
bool yaml_repair_comment(YamlLoad *load, uint32_t pos);
/* Turns a `...` before a document without `---` into that `---`. */
bool yaml_repair_document(YamlLoad *load, uint32_t dots);
/* For plain text starting with '?' that was parsed as a key without it. */
bool yaml_repair_question(YamlLoad *load, uint32_t start);
/* For a block scalar that is the entire document and is not indented. */
bool yaml_repair_root_block(YamlLoad *load, uint32_t start);
/* For a name after the '&' or '*' at `pos` with characters that libyaml rejects. */
bool yaml_repair_anchor(YamlLoad *load, uint32_t pos);

/* The name of the anchor or alias at `pos`. */
Str yaml_repair_name(const YamlLoad *load, uint32_t pos);
/* Replaces the text that the parser saw with the actual one; returns true if it was parsed here.
 * Only for sources with a copy. */
bool yaml_repair_text(YamlLoad *load, const yaml_event_t *event, uint32_t start, uint32_t end,
                      Str *text);
bool yaml_repair_is_tabbed(const YamlLoad *load, uint32_t start);
