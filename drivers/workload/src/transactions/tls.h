/* The client's end of TLS: one version, a full handshake for each connection, the certificate held against a name. */
#pragma once
#include "load.h"

#include <openssl/ssl.h>

/* Make what all connections share; authorities are PEM on standard input. Ends the program where there is none. */
SSL_CTX *tls_context(const struct load *load);

/* Begin TLS on a connected socket; NULL without memory. */
SSL *tls_begin(SSL_CTX *context, const struct load *load, int socket);

/* Say which version, cipher and group both ends agreed on. */
void tls_agreed(SSL *tls, char *word, size_t room);

/* Whether both ends agreed on HTTP/2. */
int tls_http2(SSL *tls);

/* Say why OpenSSL failed, in `room` octets; returns 0, or the errno that says it better. */
int tls_failed(SSL *tls, int result, char *word, size_t room);
