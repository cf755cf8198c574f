#include "tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(const char *what) {
    fprintf(stderr, "no TLS: %s\n", what);
    exit(2);
}

/* Verify a certificate whole, or see that it is the very one that was verified before. */
static int verify(X509_STORE_CTX *shown, void *unused) {
    static _Thread_local X509 *known;
    X509 *server = X509_STORE_CTX_get0_cert(shown);
    (void)unused;
    if (known != NULL && X509_cmp(known, server) == 0) {
        X509_STORE_CTX_set_error(shown, X509_V_OK);
        return 1;
    }
    if (X509_verify_cert(shown) != 1) return 0;
    if (known == NULL && X509_up_ref(server)) known = server;
    return 1;
}

SSL_CTX *tls_context(const struct load *load) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO *pem = BIO_new_fp(stdin, BIO_NOCLOSE);
    if (context == NULL || pem == NULL) refuse("no memory");
    X509 *authority;
    int known = 0;
    for (; (authority = PEM_read_bio_X509(pem, NULL, NULL, NULL)) != NULL; known++)
        if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority) != 1) refuse("an authority");
    if (known == 0) refuse("no authority on standard input");
    BIO_free(pem);
    ERR_clear_error();
    int thirteen = strcmp(load->version, "TLSv1.3") == 0;
    if (!thirteen && strcmp(load->version, "TLSv1.2") != 0) refuse(load->version);
    int version = thirteen ? TLS1_3_VERSION : TLS1_2_VERSION;
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    /* of TLS 1.3 the server has the only cipher; what was agreed on is told */
    if (!thirteen && SSL_CTX_set_cipher_list(context, load->cipher) != 1) refuse(load->cipher);
    if (SSL_CTX_set1_groups_list(context, load->group) != 1) refuse(load->group);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(context, verify, NULL);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_read_ahead(context, 1);
    if (load->http2 && SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2", 3) != 0) refuse("h2");
    return context;
}

SSL *tls_begin(SSL_CTX *context, const struct load *load, int socket) {
    SSL *tls = SSL_new(context);
    if (tls == NULL) return NULL;
    if (SSL_set_fd(tls, socket) != 1 || SSL_set_tlsext_host_name(tls, load->name) != 1 ||
        SSL_set1_host(tls, load->name) != 1) {
        SSL_free(tls);
        return NULL;
    }
    SSL_set_connect_state(tls);
    return tls;
}

int tls_http2(SSL *tls) {
    const unsigned char *protocol;
    unsigned int octets;
    SSL_get0_alpn_selected(tls, &protocol, &octets);
    return octets == 2 && memcmp(protocol, "h2", 2) == 0;
}

void tls_agreed(SSL *tls, char *word, size_t room) {
    const char *group = OBJ_nid2sn((int)SSL_get_negotiated_group(tls));
    snprintf(word, room, "%s %s %s", SSL_get_version(tls), SSL_get_cipher_name(tls), group ? group : "?");
}

int tls_failed(SSL *tls, int result, char *word, size_t room) {
    int error_number = errno, kind = SSL_get_error(tls, result);
    unsigned long error = ERR_peek_error();
    ERR_clear_error();
    if (kind == SSL_ERROR_SYSCALL && error == 0 && error_number) return error_number;
    long verified = SSL_get_verify_result(tls);
    const char *why = error ? ERR_reason_error_string(error) : NULL;
    if (verified != X509_V_OK) snprintf(word, room, "certificate: %s", X509_verify_cert_error_string(verified));
    else snprintf(word, room, "TLS: %s", why ? why : "no handshake");
    return 0;
}
