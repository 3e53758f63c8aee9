/* SPDX-License-Identifier: MIT */
/* Small functions that all parts of the library share. No netlink, no clock. */
#include "internal.h"

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

void freep(void *pointerp)
{
    void *pointer;

    memcpy(&pointer, pointerp, sizeof(pointer));
    free(pointer);
}

void closep(int *fdp)
{
    if (*fdp >= 0)
        close(*fdp);
    *fdp = -1;
}

/* Cuts too long a text in the middle, where a long value is: name and reason are at its ends. */
static void put_text(char *text, size_t size, const char *format, va_list arguments)
{
    char whole[PATH_MAX + 256];
    size_t head = size / 2, n;

    vsnprintf(whole, sizeof(whole), format, arguments);
    n = strlen(whole);
    if (n < size)
        memcpy(text, whole, n + 1);
    else
        snprintf(text, size, "%.*s...%s", (int)head, whole, whole + n + 4 - (size - head));
}

int error_set_element(struct riptide_error *error, const char *field, size_t i, const char *format,
                      ...)
{
    va_list arguments;
    int n = 0;

    if (!error)
        return -EINVAL;
    /* No field's name fills the text. */
    if (field && i == SIZE_MAX)
        n = snprintf(error->text, sizeof(error->text), "%s: ", field);
    else if (field)
        n = snprintf(error->text, sizeof(error->text), "%.*s[%zu]: ", (int)strcspn(field, "["),
                     field, i);
    va_start(arguments, format);
    put_text(error->text + n, sizeof(error->text) - (size_t)n, format, arguments);
    va_end(arguments);
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

bool is_forked(pid_t pid, struct riptide_error *error)
{
    if (getpid() == pid)
        return false;
    error_set(error, "made before fork(2), in process %d; make a new one in this process",
              (int)pid);
    return true;
}

bool is_zero(const void *bytes, size_t n)
{
    const unsigned char *first = bytes;

    /* Each byte equals the one before it. */
    return n == 0 || (first[0] == 0 && memcmp(first, first + 1, n - 1) == 0);
}

int config_copy(void *to, size_t bytes, const char *name, const char *field, const void *from,
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

int array_append(void *arrayp, uint32_t *np, uint32_t *capacityp, const void *element, size_t size)
{
    uint32_t capacity = *capacityp ? *capacityp * 2 : 16;
    void *array, *larger;

    memcpy(&array, arrayp, sizeof(array));
    if (*np == *capacityp) {
        larger = reallocarray(array, capacity, size);
        if (!larger)
            return -ENOMEM;
        array = larger;
        memcpy(arrayp, &array, sizeof(array));
        *capacityp = capacity;
    }
    memcpy((char *)array + *np * size, element, size);
    ++*np;
    return 0;
}
