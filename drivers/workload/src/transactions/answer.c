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

static const char *read_head(const char *head, int64_t *length) {
    static _Thread_local char status[STATUS];
    const char *line = strstr(head, "\r\n");
    if (strncmp(head, "HTTP/1.", 7) != 0 || strlen(head) < 12 || head[8] != ' ') return "no answer of HTTP";
    for (int at = 9; at < 12; at++)
        if (!isdigit((unsigned char)head[at])) return "no answer of HTTP";
    if (strncmp(head + 9, "200", 3) != 0) {
        snprintf(status, sizeof status, "status %.3s", head + 9);
        return status;
    }
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

const char *head_taken(struct head *head, const char *came, size_t *octets, int64_t *length) {
    const char *from = came, *end;
    size_t all = *octets;
    if (head->octets != NULL || memmem(came, all, "\r\n\r\n", 4) == NULL) { /* in parts, seldom */
        if (head->used + all > MOST) return "no answer of HTTP";
        head->octets = room_for(head->octets, MOST, 1);
        memcpy(head->octets + head->used, came, all);
        head->used += all;
        from = head->octets;
        all = head->used;
    }
    end = memmem(from, all, "\r\n\r\n", 4);
    if (end == NULL) return NULL;
    if (end - from > MOST) return "no answer of HTTP";
    char text[MOST + 1];
    memcpy(text, from, (size_t)(end - from));
    text[end - from] = 0;
    *octets = all - (size_t)(end + 4 - from);
    const char *wrong = read_head(text, length);
    free(head->octets);
    *head = (struct head){0};
    return wrong;
}
