/* admin_client.c — one admin call of a running server, over its UNIX socket. */
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <hone/serve.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

char *hone_serve_admin_path(uint16_t port) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char *folder = runtime && *runtime == '/' ? hn_path_join(runtime, "hone") : hn_cache_dir(), *path = NULL;
    if (folder && asprintf(&path, "%s/serve-%u.sock", folder, port) < 0) path = NULL;
    free(folder);
    return path;
}

/* The rc that a reply names; E_FAILED: none. */
static hone_rc rc_named(const char *name) {
    for (int i = 1; name && i <= HONE_E_INTERRUPTED; i++)
        if (!strcmp(name, hone_rc_name((hone_rc)i))) return (hone_rc)i;
    return HONE_E_FAILED;
}

static hone_rc send_all(int fd, const hn_str *text, hone_err *err) {
    for (size_t at = 0; at < text->n;) {
        ssize_t n = send(fd, text->text + at, text->n - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return hn_fail(err, HONE_E_IO, "the server does not read: %s", strerror(errno));
        at += (size_t)n;
    }
    return HONE_OK;
}

static hone_rc receive_all(int fd, hn_str *text, hone_err *err) {
    char piece[4096];
    for (ssize_t n; (n = recv(fd, piece, sizeof piece, 0)) != 0;) {
        if (n < 0 && errno == EINTR) return hn_fail(err, HONE_E_INTERRUPTED, "interrupted while the server works");
        if (n < 0) return hn_fail(err, HONE_E_IO, "the server does not answer: %s", strerror(errno));
        hn_str_add_n(text, piece, (size_t)n);
    }
    return text->failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
}

/* A path longer than the 107 bytes of an address is reached through its folder's descriptor. */
static hone_rc connect_to(const char *path, int *out, hone_err *err) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    int dir = -1, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool fits = strlen(path) < sizeof a.sun_path;
    if (fits)
        strcpy(a.sun_path, path);
    else if (slash) {
        *slash = 0;
        dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        fits = snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s", dir, slash + 1) < (int)sizeof a.sun_path;
    }
    free(folder);
    bool fine = fd >= 0 && fits && !connect(fd, (struct sockaddr *)&a, sizeof a);
    int why = errno;
    if (dir >= 0) close(dir);
    if (fine) {
        *out = fd;
        return HONE_OK;
    }
    if (fd >= 0) close(fd);
    if (!fits) return hn_fail(err, HONE_E_USAGE, "the path of the socket '%s' is too long", path);
    return hn_fail(err, why == EACCES ? HONE_E_IO : HONE_E_NOTFOUND,
                   "no server answers at '%s': %s; start `hone serve`, or name its --port or --admin", path,
                   strerror(why));
}

static hone_rc read_reply(const hn_str *text, char **reply, hone_err *err) {
    const char *body = text->text ? strstr(text->text, "\r\n\r\n") : NULL;
    int status = 0;
    if (!body || sscanf(text->text, "HTTP/1.%*d %d", &status) != 1)
        return hn_fail(err, HONE_E_IO, "the server went away before it answered");
    if (status == 200) {
        *reply = strdup(body + 4);
        return *reply ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    json_t *o = json_loads(body + 4, 0, NULL), *e = json_object_get(o, "error");
    const char *message = json_string_value(json_object_get(e, "message"));
    hone_rc rc = hn_fail(err, rc_named(json_string_value(json_object_get(e, "name"))), "%s",
                         message ? message : "the server refuses the call");
    json_decref(o);
    return rc;
}

hone_rc hone_serve_ask(const char *socket, const char *path, const char *body, char **reply, hone_err *err) {
    hn_str in = {0}, out = {0};
    int fd = -1;
    hone_rc rc = connect_to(socket, &fd, err);
    if (rc) return rc;
    hn_str_addf(&out, "%s %s HTTP/1.0\r\nHost: hone\r\n", body ? "POST" : "GET", path);
    if (body) hn_str_addf(&out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    hn_str_add(&out, "\r\n");
    if (body) hn_str_add(&out, body);
    rc = out.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : send_all(fd, &out, err);
    if (!rc) rc = receive_all(fd, &in, err);
    if (!rc) rc = read_reply(&in, reply, err);
    close(fd);
    hn_str_free(&in);
    hn_str_free(&out);
    return rc;
}
