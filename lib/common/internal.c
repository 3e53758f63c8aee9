/* SPDX-License-Identifier: MIT */
/* Small functions that all parts of the library share. No netlink, no clock. */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No configuration will be this large: it was not initialised. */
enum { MAX_CONFIG_BYTES = 65536 };

RIPTIDE_PUBLIC const char *riptide_version(void)
{
    return RIPTIDE_VERSION;
}

void closep(int *fdp)
{
    if (*fdp >= 0)
        close(*fdp);
    *fdp = -1;
}

int error_set_element(struct riptide_error *error, const char *field, size_t i, const char *format,
                      ...)
{
    const size_t size = sizeof(error->text), head = size / 2;
    char whole[PATH_MAX + 256];
    va_list arguments;
    size_t n = 0;

    if (!error)
        return -EINVAL;
    /* No field's name fills the text. */
    if (field && i == SIZE_MAX)
        n = (size_t)snprintf(whole, size, "%s: ", field);
    else if (field)
        n = (size_t)snprintf(whole, size, "%.*s[%zu]: ", (int)strcspn(field, "["), field, i);
    va_start(arguments, format);
    vsnprintf(whole + n, sizeof(whole) - n, format, arguments);
    va_end(arguments);
    n = strlen(whole);
    /* Too long a text is cut in the middle, where a long value is: its ends say what and why. */
    if (n < size)
        memcpy(error->text, whole, n + 1);
    else
        snprintf(error->text, size, "%.*s...%s", (int)head, whole, whole + n + 4 - (size - head));
    error->field = field;
    error->index = i == SIZE_MAX ? -1 : (int64_t)i;
    return -EINVAL;
}

int error_fill(struct riptide_error *error, int r)
{
    if (r < 0 && error && error->text[0] == '\0')
        error_set(error, "%s", strerror(-r));
    return r;
}

const char *error_without_field(const struct riptide_error *error)
{
    return error->field ? strstr(error->text, ": ") + strlen(": ") : error->text;
}

bool is_forked(pid_t pid, struct riptide_error *error)
{
    if (getpid() == pid)
        return false;
    error_set(error, "made before fork(2), in process %d; make a new one in this process",
              (int)pid);
    return true;
}

int can_act(pid_t pid, bool is_stopped, struct riptide_error *error)
{
    if (is_forked(pid, error))
        return -ECHILD;
    if (!is_stopped)
        return 0;
    error_set(error, "it was stopped; a new one is needed");
    return -ESHUTDOWN;
}

bool is_zero(const void *bytes, size_t n)
{
    const unsigned char *first = bytes;

    /* Each byte equals the one before it. */
    return n == 0 || (first[0] == 0 && memcmp(first, first + 1, n - 1) == 0);
}

int config_take(void *to, size_t bytes, const char *name, const char *field, const void *from,
                struct riptide_error *error)
{
    size_t from_bytes;

    if (!from)
        return 0;
    memcpy(&from_bytes, from, sizeof(from_bytes));
    if (from_bytes < bytes || from_bytes > MAX_CONFIG_BYTES)
        return error_set_field(error, field,
                               "%zu; struct riptide_%s_config has %zu bytes: call "
                               "riptide_%s_config_init(config, sizeof(*config)); where config is a "
                               "pointer, sizeof(config) is another size",
                               from_bytes, name, bytes, name);
    if (!is_zero((const char *)from + bytes, from_bytes - bytes)) {
        error_set_field(error, field, "the caller's configuration is newer than library %s",
                        RIPTIDE_VERSION);
        return -E2BIG;
    }
    memcpy(to, from, bytes);
    memcpy(to, &bytes, sizeof(bytes));
    return 0;
}

void struct_give(void *to, size_t to_size, const void *from, size_t from_size)
{
    memset(to, 0, to_size);
    memcpy(to, from, from_size < to_size ? from_size : to_size);
}

bool is_transient(int error)
{
    return error == -ENOBUFS || error == -ENOMEM || error == -EAGAIN || error == -EINTR ||
           error == -EBUSY;
}

int array_append(void *arrayp, uint32_t *np, const void *element, size_t size)
{
    void *array;

    memcpy(&array, arrayp, sizeof(array));
    /* It always has room up to the next power of two: none is left at one. */
    if ((*np & (*np - 1)) == 0) {
        array = reallocarray(array, *np ? 2 * (size_t)*np : 1, size);
        if (!array)
            return -ENOMEM;
        memcpy(arrayp, &array, sizeof(array));
    }
    memcpy((char *)array + *np * size, element, size);
    ++*np;
    return 0;
}

uint64_t field_number(const char *line, const char *name, uint64_t most, bool *is_damaged)
{
    const char *at = strstr(line, name);
    char *end;
    uint64_t value;

    if (!at)
        return 0;
    errno = 0;
    value = strtoull(at + strlen(name), &end, 10);
    if (isdigit((unsigned char)at[strlen(name)]) && (*end == 0 || *end == ' ') && errno == 0 &&
        value <= most)
        return value;
    *is_damaged = true;
    return 0;
}
