/*
 * The client of transactions: connections that open when they are due, in phases, each transaction counted.
 *
 * Each thread has connections of its own. Nothing waits for an answer but the connection that asked: a function
 * that is slow has more connections open, and no fewer transactions offered. A connection that could not open in
 * time by this client's own fault (its CPU, its ports, its files) is counted as unsent.
 */
#pragma once
#include "counts.h"
#include "load.h"
#include "tls.h"

struct share { /* of one thread: connections `number`, `number` + threads, ... */
    int64_t number, began_ns;
    struct counts counts;
    struct phase phase;
};

/* What all threads have in common; none of them changes it but the last two. */
extern struct load load;
extern SSL_CTX *context; /* NULL: no TLS */
extern struct request {
    char *text;
    size_t octets;
} requests[OBJECTS], tunnel; /* the second without a text: none is asked for */
extern _Atomic int64_t still_opening, all_stand_ns; /* threads whose held ones do not stand yet; when all did, or 0 */

/* Offer a `struct share` of the load, and count it there. */
void *offer(void *share);

int64_t now_ns(void);
