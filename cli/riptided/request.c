/* SPDX-License-Identifier: MIT */
#include "request.h"

#include "text.h"

#include <errno.h>
#include <string.h>

/* NULL: `error` has a line. */
static const struct verb *parse(const struct verb *verb, struct request *request, json_t *document,
                                bool may_change, struct riptide_error *error)
{
    const char *dst = NULL;
    json_error_t reason;

    if (json_unpack_ex(document, &reason, JSON_STRICT,
                       "{s:s, s?s, s?s, s?I, s?I, s?I, s?I, s?I, s?b, s?I}", "request",
                       &request->verb, "dst", &dst, "prefix", &dst, "from", &request->from,
                       "cookie", &request->cookie, "busy_time_us", &request->busy_time_us,
                       "last_data_sent_ms", &request->last_data_sent_ms, "cwnd_max",
                       &request->cwnd_max, "off", &request->off, "for_ms", &request->for_ms) < 0) {
        refuse(error, -EINVAL, "wrong member: %s", reason.text);
        return NULL;
    }
    while (verb->name && strcmp(verb->name, request->verb) != 0)
        verb++;
    if (!verb->name)
        refuse(error, -EINVAL, "%s: unknown request", request->verb);
    else if (verb->changes && !may_change)
        refuse(error, -EPERM, "only root and the group of --control-group may ask for that");
    else if (verb->needs_dst && !dst)
        refuse(error, -EINVAL, "%s: dst is missing", request->verb);
    else if (dst && riptide_prefix_parse(&request->dst, dst) < 0)
        refuse(error, -EINVAL, "%s: not a prefix", dst);
    else
        return verb;
    return NULL;
}

/* The object, which may be NULL, is freed. */
static char *to_text(json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

    json_decref(object);
    return text;
}

char *request_refuse(const char *reason)
{
    /* The reason may quote the client's text, and end within a character. */
    json_t *text = json_string(reason);

    return to_text(
        json_pack("{s:b, s:o}", "ok", false, "error", text ? text : json_string("no valid text")));
}

char *request_answer(const struct verb *verbs, struct daemon *daemon, const char *line, size_t n,
                     bool may_change)
{
    struct riptide_error error = { .text = "" };
    struct request request = { .verb = "", .busy_time_us = -1, .last_data_sent_ms = -1 };
    const struct verb *verb = NULL;
    json_error_t reason;
    json_t *document = json_loadb(line, n, JSON_REJECT_DUPLICATES, &reason), *answer = NULL;

    if (document)
        verb = parse(verbs, &request, document, may_change, &error);
    else
        refuse(&error, -EINVAL, "not JSON: %s", reason.text);
    if (verb)
        answer = verb->answer(daemon, &request, &error);
    json_decref(document);
    if (answer && json_object_set_new(answer, "ok", json_true()) == 0)
        return to_text(answer);
    json_decref(answer);
    return request_refuse(error.text[0] ? error.text : strerror(ENOMEM));
}
