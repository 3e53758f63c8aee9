/*
 * Reads the configuration file, and puts settings together from it and the command line.
 */
#include "load.h"

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The usual place: nothing needs to be there. */
static const char default_path[] = "/etc/riptide/riptided.conf";

/* No configuration will ever be this large. */
enum { MAX_BYTES = 4 << 20 };

static int fail(struct riptide_error *error, const char *path, const char *reason, int code)
{
    snprintf(error->text, sizeof(error->text), "%s: %s", path, reason);
    return -code;
}

static int read_all(int fd, const char *path, char **bytesp, size_t *np,
                    struct riptide_error *error)
{
    struct stat stat;
    size_t n = 0;
    char *bytes;

    if (fstat(fd, &stat) < 0)
        return fail(error, path, strerror(errno), errno);
    if (!S_ISREG(stat.st_mode))
        return fail(error, path, S_ISDIR(stat.st_mode) ? "is a directory" : "is no regular file",
                    EINVAL);
    if (stat.st_size > MAX_BYTES)
        return fail(error, path, "is larger than 4 MB, so it is no configuration", EINVAL);
    bytes = malloc((size_t)stat.st_size + 1);
    if (!bytes)
        return fail(error, path, strerror(ENOMEM), ENOMEM);
    while (n < (size_t)stat.st_size) {
        ssize_t got = read(fd, bytes + n, (size_t)stat.st_size - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int code = errno;

            free(bytes);
            return fail(error, path, strerror(code), code);
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    *bytesp = bytes;
    *np = n;
    return 0;
}

/* A file that is not there is none, unless somebody named it. */
static int read_text(const char *path, bool is_needed, char **bytesp, size_t *np,
                     struct riptide_error *error)
{
    /* O_NONBLOCK: a FIFO in its place must not hold up the start. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && !is_needed)
        return 0;
    if (fd < 0)
        return fail(error, path, strerror(errno), errno);
    r = read_all(fd, path, bytesp, np, error);
    close(fd);
    return r;
}

int settings_read_file(struct settings *settings, const char *path)
{
    const char *name = path ? path : default_path;
    char *bytes = NULL;
    size_t n = 0;
    int r = read_text(name, path, &bytes, &n, &settings->mistakes[0]);

    if (r < 0)
        settings->n_mistakes = 1;
    else if (bytes)
        r = config_parse(settings, name, bytes, n);
    free(bytes);
    return r;
}

/* The defaults, and over them what a service manager has prepared. */
static int begin(struct settings *settings)
{
    const char *directories = getenv("STATE_DIRECTORY");

    settings_init(settings);
    if (!directories || !*directories)
        return 0;
    /* Of several, the first. */
    if (asprintf(&settings->state_of_unit, "%.*s/state", (int)strcspn(directories, ":"),
                 directories) < 0) {
        settings->state_of_unit = NULL;
        return -ENOMEM;
    }
    settings->state = settings->state_of_unit;
    return 0;
}

int settings_load(struct settings *settings, int argc, char **argv, struct riptide_error *error)
{
    const char *path;
    bool is_forgiving;
    int r;

    /* Once to learn which file, and again to go over it. */
    settings_init(settings);
    r = settings_parse(settings, argc, argv, error);
    if (r < 0 || settings->help || settings->version)
        return r;
    path = settings->config;
    is_forgiving = settings->flush && !settings->check && !settings->print_config;
    settings_deinit(settings);
    if (begin(settings) < 0) {
        snprintf(error->text, sizeof(error->text), "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    r = settings_read_file(settings, path);
    if (r < 0 && !is_forgiving) {
        *error = settings->mistakes[0];
        return r;
    }
    return settings_parse(settings, argc, argv, error);
}

int settings_find_interface(struct settings *settings, struct riptide_error *error)
{
    const char *name = settings->scope.interface;

    if (!name)
        return 0;
    settings->observer.scope.ifindex = if_nametoindex(name);
    if (settings->observer.scope.ifindex != 0)
        return 0;
    snprintf(error->text, sizeof(error->text), "interface %s: no such interface", name);
    return -EINVAL;
}
