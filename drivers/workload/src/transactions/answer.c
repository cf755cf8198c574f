#include "answer.h"
#include "counts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    STATUS = 16,
    MOST = 1 << 16, /* choice: a longer head is no answer */
};

static const char *read_status(const char *head) {
    static _Thread_local char status[STATUS];
    if (strncmp(head, "HTTP/1.", 7) != 0 || strlen(head) < 12 || head[8] != ' ') return "no answer of HTTP";
    for (int at = 9; at < 12; at++)
        if (!isdigit((unsigned char)head[at])) return "no answer of HTTP";
    if (strncmp(head + 9, "200", 3) == 0) return NULL;
    snprintf(status, sizeof status, "status %.3s", head + 9);
    return status;
}

static const char *read_head(const char *head, int64_t *length) {
    const char *line = strstr(head, "\r\n"), *wrong = read_status(head);
    if (wrong != NULL) return wrong;
    for (; line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "content-length:", 15) != 0) continue;
        const char *value = line + 17;
        while (*value == ' ' || *value == '\t') value++;
        if (!isdigit((unsigned char)*value)) break;
        *length = strtoll(value, NULL, 10);
        return NULL;
    }
    return "an answer without a length";
}

/* Keep what came of a head in parts, seldom; returns where all of it lies and how long it is, or NULL: too long. */
static const char *gathered(struct head *head, const char *came, size_t *octets) {
    if (head->octets == NULL && memmem(came, *octets, "\r\n\r\n", 4) != NULL) return came;
    if (head->used + *octets > MOST) return NULL;
    head->octets = room_for(head->octets, MOST, 1);
    memcpy(head->octets + head->used, came, *octets);
    head->used += *octets;
    *octets = head->used;
    return head->octets;
}

/* Take a whole head off, whose end is known, as text. */
static void as_text(const char *from, const char *end, char *text) {
    memcpy(text, from, (size_t)(end - from));
    text[end - from] = 0;
}

static void forget(struct head *head) {
    free(head->octets);
    *head = (struct head){0};
}

const char *head_taken(struct head *head, const char *came, size_t *octets, int64_t *length) {
    size_t all = *octets;
    const char *from = gathered(head, came, &all);
    if (from == NULL) return "no answer of HTTP";
    const char *end = memmem(from, all, "\r\n\r\n", 4);
    if (end == NULL) return NULL;
    if (end - from > MOST) return "no answer of HTTP";
    char text[MOST + 1];
    as_text(from, end, text);
    *octets = all - (size_t)(end + 4 - from);
    const char *wrong = read_head(text, length);
    forget(head);
    return wrong;
}

const char *tunnel_taken(struct head *head, const char *came, size_t octets, bool *whole) {
    const char *from = gathered(head, came, &octets);
    if (from == NULL) return "no answer of HTTP";
    const char *end = memmem(from, octets, "\r\n\r\n", 4);
    if (end == NULL) return NULL;
    if (end - from > MOST) return "no answer of HTTP";
    char text[MOST + 1];
    as_text(from, end, text);
    bool more = octets > (size_t)(end + 4 - from);
    const char *wrong = read_status(text);
    forget(head);
    if (wrong == NULL && more) wrong = "octets that nobody asked for"; /* TLS begins with the client */
    *whole = wrong == NULL;
    return wrong;
}
