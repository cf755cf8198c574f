#include "answer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STATUS = 16 };

const char *answer_head(const char *head, int64_t *length) {
    static char status[STATUS];
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
