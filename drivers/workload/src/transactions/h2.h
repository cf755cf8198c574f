/* One connection of HTTP/2 as a client has it: a request at a time, its answer counted. Framing is nghttp2's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct h2;

struct h2_answer { /* of the request that was asked last; length -1: not told */
    bool begun, closed;
    int status;
    int64_t length, body;
    uint32_t error;
};

/* NULL without memory. */
struct h2 *h2_begin(void);
void h2_end(struct h2 *h2);

/* Queue a request; false where the other end takes none any more. */
bool h2_ask(struct h2 *h2, const char *target, const char *host);

/* Take octets off the connection; returns what is wrong with them, or NULL. */
const char *h2_taken(struct h2 *h2, const char *came, size_t octets);

/* What is to be sent next, 0 octets: nothing. It stays until this is called again. */
size_t h2_pending(struct h2 *h2, const char **octets);

const struct h2_answer *h2_answer(const struct h2 *h2);

/* What is wrong with a closed answer for an object of a size, or NULL. */
const char *h2_wrong(const struct h2_answer *answer, int64_t octets);
