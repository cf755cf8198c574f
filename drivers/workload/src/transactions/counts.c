#include "counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *room_for(void *old, size_t count, size_t each) {
    void *made = reallocarray(old, count, each);
    if (made == NULL) {
        fputs("no memory is left\n", stderr);
        exit(1);
    }
    return made;
}

static void tally_add(struct tally *tally, const char *word, uint64_t count) {
    size_t at = 0;
    while (at < tally->used && strncmp(tally->of[at].word, word, WORD - 1) != 0) at++;
    if (at == tally->used) {
        if (at == TOLD - 1) word = "other";
        if (at == TOLD) at = TOLD - 1;
        else snprintf(tally->of[tally->used++].word, WORD, "%s", word);
    }
    tally->of[at].count += count;
}

void tally_word(struct tally *tally, const char *word) { tally_add(tally, word, 1); }

static void tallies_add(struct tally *tally, const struct tally *more) {
    for (size_t at = 0; at < more->used; at++) tally_add(tally, more->of[at].word, more->of[at].count);
}

void times_add(struct times *times, int64_t ns) {
    if (times->used == times->room) {
        times->room = times->room ? 2 * times->room : 1 << 16;
        times->ns = room_for(times->ns, times->room, sizeof *times->ns);
    }
    times->ns[times->used++] = (uint64_t)ns;
}

void counts_add(struct counts *counts, const struct counts *more) {
    if (more->cpu_ns > counts->cpu_ns) counts->cpu_ns = more->cpu_ns;
    for (size_t at = 0; at < OBJECTS; at++) counts->objects[at] += more->objects[at];
    counts->established += more->established;
    counts->answered += more->answered;
    counts->due += more->due;
    counts->opened += more->opened;
    counts->tried += more->tried;
    counts->resets += more->resets;
    counts->body_octets += more->body_octets;
    counts->resumed += more->resumed;
    counts->unsent += more->unsent;
    tallies_add(&counts->failures, &more->failures);
    tallies_add(&counts->negotiated, &more->negotiated);
    tallies_add(&counts->why_unsent, &more->why_unsent);
    for (size_t at = 0; at < more->first.used; at++) {
        times_add(&counts->first, (int64_t)more->first.ns[at]);
        times_add(&counts->last, (int64_t)more->last.ns[at]);
    }
}

struct phase phase_of(int64_t interval_ns, int64_t length_ns) {
    struct phase phase = {.from_ns = INT64_MAX, .to_ns = INT64_MAX, .interval_ns = interval_ns, .least_open = -1};
    phase.intervals = (size_t)(length_ns / interval_ns);
    phase.completed = room_for(NULL, phase.intervals, sizeof *phase.completed);
    phase.open_ns = room_for(NULL, phase.intervals, sizeof *phase.open_ns);
    memset(phase.completed, 0, phase.intervals * sizeof *phase.completed);
    memset(phase.open_ns, 0, phase.intervals * sizeof *phase.open_ns);
    return phase;
}

void phase_begin(struct phase *phase, int64_t from_ns, int64_t length_ns) {
    phase->from_ns = phase->looked_ns = from_ns;
    phase->to_ns = from_ns + length_ns;
}

void phase_add(struct phase *phase, const struct phase *more) {
    phase->least_open += more->least_open;
    for (size_t at = 0; at < phase->intervals; at++) {
        phase->completed[at] += more->completed[at];
        phase->open_ns[at] += more->open_ns[at];
    }
}

void phase_advance(struct phase *phase, int64_t now_ns) {
    int64_t at = phase->looked_ns > phase->from_ns ? phase->looked_ns : phase->from_ns;
    int64_t end = now_ns < phase->to_ns ? now_ns : phase->to_ns;
    if (end > at && (phase->least_open < 0 || phase->open < phase->least_open)) phase->least_open = phase->open;
    while (at < end) {
        int64_t interval = (at - phase->from_ns) / phase->interval_ns;
        int64_t until = phase->from_ns + (interval + 1) * phase->interval_ns;
        if (until > end) until = end;
        phase->open_ns[interval] += (uint64_t)(phase->open * (until - at));
        at = until;
    }
    phase->looked_ns = now_ns;
}

void phase_open(struct phase *phase, int64_t now_ns, int more) {
    phase_advance(phase, now_ns);
    phase->open += more;
}

bool phase_complete(struct phase *phase, int64_t now_ns) {
    if (now_ns < phase->from_ns || now_ns >= phase->to_ns) return false;
    phase->completed[(now_ns - phase->from_ns) / phase->interval_ns]++;
    return true;
}

static void print_word(const char *word) {
    putchar('"');
    for (; *word; word++) {
        if (*word == '"' || *word == '\\') putchar('\\');
        putchar((unsigned char)*word < ' ' || (unsigned char)*word > '~' ? '?' : *word);
    }
    putchar('"');
}

static void print_tally(const char *name, const struct tally *tally) {
    printf("\"%s\":{", name);
    for (size_t at = 0; at < tally->used; at++) {
        if (at) putchar(',');
        print_word(tally->of[at].word);
        printf(":%" PRIu64, tally->of[at].count);
    }
    putchar('}');
}

static void print_list(const char *name, const uint64_t *list, size_t count) {
    printf("\"%s\":[", name);
    for (size_t at = 0; at < count; at++) printf("%s%" PRIu64, at ? "," : "", list[at]);
    putchar(']');
}

static int by_size(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Least, mean, most and percentiles of all of them; nothing of none. */
static void print_times(const char *name, struct times *times) {
    static const unsigned shares[] = {50, 90, 99};
    printf("\"%s\":{", name);
    if (times->used) {
        qsort(times->ns, times->used, sizeof *times->ns, by_size);
        uint64_t sum = 0;
        for (size_t at = 0; at < times->used; at++) sum += times->ns[at];
        printf("\"min\":%" PRIu64 ",\"mean\":%" PRIu64 ",\"max\":%" PRIu64, times->ns[0], sum / times->used,
               times->ns[times->used - 1]);
        for (size_t at = 0; at < sizeof shares / sizeof *shares; at++)
            printf(",\"p%u\":%" PRIu64, shares[at], times->ns[(shares[at] * times->used + 99) / 100 - 1]);
    }
    putchar('}');
}

void told(const struct load *load, struct counts *counts, const struct phase *phase, int64_t took_ns) {
    printf("{\"sustain\":{\"due_connections\":%" PRIu64 ",\"opened\":%" PRIu64 ",\"tried\":%" PRIu64
           ",\"resets\":%" PRIu64 ",\"body_octets\":%" PRIu64 ",\"resumed\":%" PRIu64 ",\"least_open\":%" PRId64
           ",\"client_ns\":%" PRId64 ",",
           counts->due, counts->opened, counts->tried, counts->resets, counts->body_octets, counts->resumed,
           phase->least_open < 0 ? 0 : phase->least_open, counts->cpu_ns);
    printf("\"objects\":[");
    for (int64_t at = 0; at < load->used; at++)
        printf("%s[%" PRId64 ",%" PRIu64 "]", at ? "," : "", load->objects[at].octets, counts->objects[at]);
    printf("],");
    print_tally("failures", &counts->failures);
    putchar(',');
    print_tally("negotiated", &counts->negotiated);
    putchar(',');
    print_list("completed", phase->completed, phase->intervals);
    putchar(',');
    print_list("open_ns", phase->open_ns, phase->intervals);
    putchar(',');
    print_times("first_octet_ns", &counts->first);
    putchar(',');
    print_times("last_octet_ns", &counts->last);
    printf("},\"whole\":{\"connections\":%" PRIu64 ",\"requests\":%" PRIu64 "},", counts->established, counts->answered);
    printf("\"unsent\":%" PRIu64 ",", counts->unsent);
    print_tally("why_unsent", &counts->why_unsent);
    printf(",\"took_ns\":%" PRId64 "}\n", took_ns);
}
