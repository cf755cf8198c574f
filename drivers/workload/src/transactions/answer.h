/* The head of an answer of HTTP/1. */
#pragma once
#include <stdint.h>

/* Read status and length of a head that ends with a NUL; returns what is wrong with it, or NULL. */
const char *answer_head(const char *head, int64_t *length);
