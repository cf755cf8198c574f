/* What is counted of a load of transactions. Times are of CLOCK_MONOTONIC, in nanoseconds. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load.h"

enum { TOLD = 40, WORD = 120 }; /* choice: different words that are told by name, and their length */

struct tally { /* how often each word; what finds no room is told as "other" */
    size_t used;
    struct {
        char word[WORD];
        uint64_t count;
    } of[TOLD];
};

struct times {
    uint64_t *ns;
    size_t used, room;
};

struct phase { /* the sustain phase by intervals; before it begins, `from_ns` is INT64_MAX */
    int64_t from_ns, to_ns, interval_ns, looked_ns;
    int64_t open, least_open; /* least_open: -1 before the first look */
    size_t intervals;
    uint64_t *completed, *open_ns;
};

struct counts { /* of the connections of the sustain phase alone; cpu_ns: of the busiest thread in that phase */
    int64_t cpu_ns;
    uint64_t objects[OBJECTS]; /* right answers */
    uint64_t established, answered; /* of the whole load, ramp up included */
    uint64_t due, opened, tried, resets, body_octets, resumed, unsent;
    struct tally failures, negotiated, why_unsent;
    struct times first, last;
};

void tally_word(struct tally *tally, const char *word);
void times_add(struct times *times, int64_t ns);
void counts_add(struct counts *counts, const struct counts *more);
struct phase phase_of(int64_t interval_ns, int64_t length_ns);
void phase_begin(struct phase *phase, int64_t from_ns, int64_t length_ns);
/* Add that of another thread; the fewest open of both together were at least the sum of each one's fewest. */
void phase_add(struct phase *phase, const struct phase *more);
void phase_open(struct phase *phase, int64_t now_ns, int more);
void phase_advance(struct phase *phase, int64_t now_ns);
/* Count a right answer in its interval; returns whether it came within the phase. */
bool phase_complete(struct phase *phase, int64_t now_ns);
void *room_for(void *old, size_t count, size_t each);

/* Print all of it as one line of JSON. */
void told(const struct load *load, struct counts *counts, const struct phase *phase, int64_t took_ns);
