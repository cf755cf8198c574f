/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "answer.h"

static bool write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t wrote = send(fd, text, length, MSG_NOSIGNAL);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		text += wrote;
		length -= (size_t)wrote;
	}
	return true;
}

bool answer(int fd, json_int_t id, json_t *result, const struct failure *f)
{
	json_t *reply = result ? json_pack("{s:I,s:o}", "id", id, "result", result)
			       : json_pack("{s:I,s:{s:s,s:s}}", "id", id, "error", "code", f->code, "text", f->text);
	char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
	bool sent = text && write_all(fd, text, strlen(text)) && write_all(fd, "\n", 1);

	free(text);
	json_decref(reply);
	return sent;
}
