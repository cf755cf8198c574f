/* The head of an answer of HTTP/1, which may come in parts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct head { /* what came of one that is not whole yet */
    char *octets;
    size_t used;
};

/*
 * Take a head off what came; returns what is wrong with it, or NULL. `octets` is what came, and then what of it
 * is body; `length` that of the whole body, untouched while more of the head has to come.
 */
const char *head_taken(struct head *head, const char *came, size_t *octets, int64_t *length);

/* Take the whole of a proxy's answer to CONNECT; returns what is wrong with it, or NULL. `whole` says that it came. */
const char *tunnel_taken(struct head *head, const char *came, size_t octets, bool *whole);
