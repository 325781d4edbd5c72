#include "lang/unicode.h"

#include "base/search.h"
#include "lang/unicode_table.h"

static uint32_t run_find(uint32_t code)
{
    uint32_t low = unicode_run_index[UNICODE_INDEXED >> UNICODE_BLOCK_BITS];
    uint32_t high = unicode_run_count;
    if (LIKELY(code < UNICODE_INDEXED)) {
        uint32_t block = code >> UNICODE_BLOCK_BITS;
        low = unicode_run_index[block];
        high = unicode_run_index[block + 1] + 1u;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (unicode_runs[middle] >> UNICODE_RECORD_BITS <= code) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return unicode_runs[low];
}

static const UnicodeRecord *record_find(uint32_t code)
{
    return &unicode_records[run_find(code) & ((1u << UNICODE_RECORD_BITS) - 1)];
}

unsigned unicode_flags(uint32_t code)
{
    if (code > 0x10ffff) {
        return 0;
    }
    return record_find(code)->flags & (UNICODE_SPECIAL - 1u);
}

/* Decimal digits come in runs of ten starting with zero, so the run determines the value. */
unsigned unicode_decimal_value(uint32_t code)
{
    return (code - (run_find(code) >> UNICODE_RECORD_BITS)) % 10;
}

static const UnicodeSpecial *special_find(uint32_t code, CaseMapping mapping)
{
    uint32_t first = SEARCH(unicode_special_count, pos, unicode_specials[pos].code < code);
    for (uint32_t i = first; i < unicode_special_count && unicode_specials[i].code == code; i++) {
        if (unicode_specials[i].mapping == mapping) {
            return &unicode_specials[i];
        }
    }
    return NULL;
}

unsigned unicode_map(uint32_t code, CaseMapping mapping, uint32_t out[UNICODE_MAPPED_MAX])
{
    out[0] = code;
    if (code > 0x10ffff) {
        return 1;
    }
    const UnicodeRecord *record = record_find(code);
    if ((record->flags & UNICODE_SPECIAL) != 0) {
        const UnicodeSpecial *special = special_find(code, mapping);
        if (special != NULL) {
            for (unsigned i = 0; i < special->count; i++) {
                out[i] = special->mapped[i];
            }
            return special->count;
        }
    }
    out[0] = (uint32_t)((int32_t)code + record->distance[mapping]);
    return 1;
}
