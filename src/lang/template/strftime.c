/* strftime() for UTC in the C locale, implemented with a proleptic Gregorian calendar. The C
 * library's version depends on locale and time zone, which templates must not. */
#include "lang/template/strftime.h"

typedef struct CalendarTime {
    int64_t seconds;
    uint32_t micros;
    int year, month, day; /* from 1 */
    int hour, minute, second;
    int weekday; /* 0 is Sunday */
    int yearday; /* from 0 */
} CalendarTime;

static const char *const weekdays[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday" };
static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int month_days(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 0001-01-01 to January 1 of the year. */
static int64_t days_before_year(int64_t year)
{
    int64_t before = year - 1;
    return before * 365 + before / 4 - before / 100 + before / 400;
}

static CalendarTime calendar_time_make(int64_t seconds, uint32_t micros)
{
    CalendarTime m = { .seconds = seconds, .micros = micros };
    int64_t since = seconds - STRFTIME_MIN; /* never negative */
    int64_t days = since / 86400;
    int64_t rest = since % 86400;
    m.hour = (int)(rest / 3600);
    m.minute = (int)(rest / 60 % 60);
    m.second = (int)(rest % 60);
    m.weekday = (int)((days + 1) % 7); /* the first day of year 1 was a Monday */
    m.year = (int)(days / 366 + 1);
    while (days_before_year(m.year + 1) <= days) {
        m.year++;
    }
    m.yearday = (int)(days - days_before_year(m.year));
    m.day = m.yearday + 1;
    m.month = 1;
    while (m.day > month_days(m.year, m.month)) {
        m.day -= month_days(m.year, m.month++);
    }
    return m;
}

/* The ISO 8601 year and week: weeks start on Monday, and the first week contains a Thursday. */
static int iso_week(const CalendarTime *m, int *year)
{
    int monday_based = (m->weekday + 6) % 7;
    int week = (m->yearday - monday_based + 10) / 7;
    *year = m->year;
    if (week < 1) {
        *year = m->year - 1;
        int last = m->yearday + 365 + is_leap(*year);
        return (last - monday_based + 10) / 7;
    }
    if (week == 53) {
        int january_first = (monday_based - m->yearday % 7 + 7) % 7;
        bool long_year = january_first == 3 || (january_first == 2 && is_leap(m->year));
        if (!long_year) {
            *year = m->year + 1;
            return 1;
        }
    }
    return week;
}

static int hour_12(const CalendarTime *m)
{
    return m->hour % 12 == 0 ? 12 : m->hour % 12;
}

static void put_iso(const CalendarTime *m, char directive, Buf *out)
{
    int year;
    int week = iso_week(m, &year);
    if (directive == 'V') {
        buf_put_format(out, "%02d", week);
    } else {
        buf_put_format(out, directive == 'G' ? "%04d" : "%02d",
                       directive == 'G' ? year : year % 100);
    }
}

static bool put_directive(const CalendarTime *m, char directive, Buf *out);

static void put_all(const CalendarTime *m, const char *directives, Buf *out)
{
    for (; *directives != '\0'; directives++) {
        if (!put_directive(m, *directives, out)) {
            buf_put_char(out, *directives);
        }
    }
}

/* Returns false if the character is not a directive. In lists of directives (see put_all) such
 * characters are separators. */
static bool put_directive(const CalendarTime *m, char directive, Buf *out)
{
    switch (directive) {
    case 'a': buf_put_format(out, "%.3s", weekdays[m->weekday]); return true;
    case 'A': buf_put_c(out, weekdays[m->weekday]); return true;
    case 'b':
    case 'h': buf_put_format(out, "%.3s", months[m->month - 1]); return true;
    case 'B': buf_put_c(out, months[m->month - 1]); return true;
    case 'c': put_all(m, "a b e H:M:S Y", out); return true;
    case 'C': buf_put_format(out, "%02d", m->year / 100); return true;
    case 'd': buf_put_format(out, "%02d", m->day); return true;
    case 'x':
    case 'D': put_all(m, "m/d/y", out); return true;
    case 'e': buf_put_format(out, "%2d", m->day); return true;
    case 'f': buf_put_format(out, "%06u", m->micros); return true;
    case 'F': put_all(m, "Y-m-d", out); return true;
    case 'g':
    case 'G':
    case 'V': put_iso(m, directive, out); return true;
    case 'H': buf_put_format(out, "%02d", m->hour); return true;
    case 'I': buf_put_format(out, "%02d", hour_12(m)); return true;
    case 'j': buf_put_format(out, "%03d", m->yearday + 1); return true;
    case 'k': buf_put_format(out, "%2d", m->hour); return true;
    case 'l': buf_put_format(out, "%2d", hour_12(m)); return true;
    case 'm': buf_put_format(out, "%02d", m->month); return true;
    case 'M': buf_put_format(out, "%02d", m->minute); return true;
    case 'n': buf_put_char(out, '\n'); return true;
    case 'p': buf_put_c(out, m->hour < 12 ? "AM" : "PM"); return true;
    case 'P': buf_put_c(out, m->hour < 12 ? "am" : "pm"); return true;
    case 'r': put_all(m, "I:M:S p", out); return true;
    case 'R': put_all(m, "H:M", out); return true;
    case 's': buf_put_i64(out, m->seconds); return true;
    case 'S': buf_put_format(out, "%02d", m->second); return true;
    case 't': buf_put_char(out, '\t'); return true;
    case 'X':
    case 'T': put_all(m, "H:M:S", out); return true;
    case 'u': buf_put_format(out, "%d", m->weekday == 0 ? 7 : m->weekday); return true;
    case 'U': buf_put_format(out, "%02d", (m->yearday + 7 - m->weekday) / 7); return true;
    case 'w': buf_put_format(out, "%d", m->weekday); return true;
    case 'W': buf_put_format(out, "%02d", (m->yearday + 7 - (m->weekday + 6) % 7) / 7); return true;
    case 'y': buf_put_format(out, "%02d", m->year % 100); return true;
    case 'Y': buf_put_format(out, "%d", m->year); return true;
    case 'z': buf_put_c(out, "+0000"); return true;
    case 'Z': buf_put_c(out, "UTC"); return true;
    case '%': buf_put_char(out, '%'); return true;
    default: return false;
    }
}

void strftime_put(Str format, int64_t seconds, uint32_t micros, Buf *out)
{
    const CalendarTime m = calendar_time_make(seconds, micros);
    for (size_t i = 0; i < format.len && !out->overflow; i++) {
        if (format.data[i] != '%' || i + 1 == format.len) {
            buf_put_char(out, format.data[i]);
            continue;
        }
        if (!put_directive(&m, format.data[++i], out)) {
            buf_put_char(out, '%');
            buf_put_char(out, format.data[i]);
        }
    }
}
