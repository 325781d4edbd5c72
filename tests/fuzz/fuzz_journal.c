/* Input: a journal. Invariants: intact records are read and others skipped; a journal that was read
 * can be written again, and truncating the torn tail does not change the result. The input is
 * parsed as it is, and again with a valid checksum before each line, which random input would never
 * match. */
#include "base/bug.h"
#include "base/crc32c.h"
#include "run/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_owed(const DebtBook *book, Buf *out)
{
    const Debt *debt;
    for (uint32_t at = 0; (debt = debt_book_next(book, &at, false)) != NULL;) {
        BUG_IF(debt->ended || debt->state != DEBT_OWED || debt_kind_name(debt->kind) == NULL);
        BUG_IF((debt_book_kinds(book, debt->step) & 1u << debt->kind) == 0);
        Debt one = *debt;
        journal_record_put(&(JournalRecord){ .kind = JOURNAL_OWED,
                                             .at_ms = debt->at_ms,
                                             .run = debt->run,
                                             .boot = debt->boot,
                                             .debts = &one,
                                             .debt_count = 1 },
                           out);
    }
}

static void scan(Str text)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    DebtBook torn, cut, again;
    debt_book_init(&torn, &arena);
    debt_book_init(&cut, &arena);
    debt_book_init(&again, &arena);
    JournalScan first = journal_scan(text, &torn);
    BUG_IF(first.valid_len > text.len || first.records + first.damaged > text.len);
    JournalScan second = journal_scan(str_slice(text, 0, first.valid_len), &cut);
    BUG_IF(second.valid_len != first.valid_len || second.records != first.records);
    BUG_IF(debt_book_count(&torn) != debt_book_count(&cut));
    debt_book_recover(&torn, STR("boot"));
    BUG_IF(torn.run_open);
    AUTO_CLEAR(Buf) written = buf_make(BUF_UNLIMITED), twice = buf_make(BUF_UNLIMITED);
    put_owed(&torn, &written);
    JournalScan third = journal_scan(buf_str(&written), &again);
    BUG_IF(third.damaged != 0 || third.valid_len != written.len);
    put_owed(&again, &twice);
    /* Invalid UTF-8 is replaced when it is written, so distinct values may become equal. */
    BUG_IF(debt_book_count(&again) > debt_book_count(&torn));
    BUG_IF(debt_book_count(&again) == debt_book_count(&torn) &&
           !str_eq(buf_str(&written), buf_str(&twice)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    scan(text);
    AUTO_CLEAR(Buf) signed_text = buf_make(BUF_UNLIMITED);
    for (Str line; str_split_next(&text, '\n', &line);) {
        buf_put_format(&signed_text, "%08x ", crc32c(line));
        buf_put(&signed_text, line);
        buf_put_char(&signed_text, '\n');
    }
    scan(buf_str(&signed_text));
    return 0;
}
