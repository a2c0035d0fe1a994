/* mcp_wire.c — lines of JSON from and to the client. Nothing here waits. */
#include "mcp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_B = 65536, SLOW_B = 1 << 20, PIPE_B = 4096 /* what a pipe that can be written takes without waiting */ };

static void add(cli_mcp_wire *w, const char *text, size_t n) {
    if (w->skipping || w->line_n + n > CLI_MCP_LINE_MOST) {
        w->skipping = true;
        return;
    }
    while (w->line_n + n > w->line_room) w->line = cli_grow(w->line, &w->line_room, w->line_room, 1);
    memcpy(w->line + w->line_n, text, n);
    w->line_n += n;
}

static void end_line(cli_mcp_wire *w, void (*line)(void *, const char *, size_t), void *arg) {
    line(arg, w->line, w->skipping ? SIZE_MAX : w->line_n);
    w->line_n = 0;
    w->skipping = false;
}

void cli_mcp_wire_read(cli_mcp_wire *w, void (*line)(void *, const char *, size_t), void *arg) {
    char chunk[CHUNK_B];
    ssize_t n = read(w->in, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        w->ended = true;
        return;
    }
    for (const char *p = chunk, *end = chunk + n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        add(w, p, (size_t)((stop ? stop : end) - p));
        if (stop) end_line(w, line, arg);
        p = stop ? stop + 1 : end;
    }
}

void cli_mcp_wire_send(cli_mcp_wire *w, json_t *message) {
    char *text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
    size_t n = text ? strlen(text) : 0;
    json_decref(message);
    if (!text) return;
    if (w->queue_at == w->queue_n) w->queue_at = w->queue_n = 0;
    while (w->queue_n + n + 1 > w->queue_room) w->queue = cli_grow(w->queue, &w->queue_room, w->queue_room, 1);
    memcpy(w->queue + w->queue_n, text, n);
    w->queue[w->queue_n + n] = '\n';
    w->queue_n += n + 1;
    free(text);
}

bool cli_mcp_wire_full(const cli_mcp_wire *w) { return w->queue_n - w->queue_at > SLOW_B; }

void cli_mcp_wire_write(cli_mcp_wire *w) {
    while (w->queue_at < w->queue_n) {
        struct pollfd can = {w->out, POLLOUT, 0};
        size_t n = w->queue_n - w->queue_at;
        if (poll(&can, 1, 0) <= 0) return;
        ssize_t k = write(w->out, w->queue + w->queue_at, n < PIPE_B ? n : PIPE_B);
        if (k < 0 && (errno == EINTR || errno == EAGAIN)) return;
        if (k < 0) {
            w->ended = true;
            return;
        }
        w->queue_at += (size_t)k;
    }
}

void cli_mcp_wire_flush(cli_mcp_wire *w) {
    struct pollfd can = {w->out, POLLOUT, 0};
    w->ended = false;
    for (int i = 0; i < 20 && w->queue_at < w->queue_n && !w->ended; i++) {
        poll(&can, 1, 50);
        cli_mcp_wire_write(w);
    }
}

void cli_mcp_wire_free(cli_mcp_wire *w) {
    free(w->line);
    free(w->queue);
    *w = (cli_mcp_wire){0};
}
