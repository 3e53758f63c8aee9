/* SPDX-License-Identifier: MIT */
/*
 * The order of requests, and what to do where an answer is not whole. The bytes are understood in
 * reply.c and local.c, those of requests written in request.c.
 */
#include "observe/dump.h"

#include "internal.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>

static const struct {
    const char *name;
    int bus;
    uint16_t data_type;
} channel_kinds[N_CHANNELS] = {
    [ROUTES] = { "rtnetlink", NETLINK_ROUTE, RTM_NEWROUTE },
    [SOCKETS] = { "sock_diag", NETLINK_SOCK_DIAG, TCPDIAG_GETSOCK },
};

static const struct {
    enum dump_channel channel;
    uint8_t family;
} phases[] = {
    [LOCAL4] = { ROUTES, AF_INET },
    [LOCAL6] = { ROUTES, AF_INET6 },
    [ALL_SOCKETS] = { SOCKETS, AF_UNSPEC },
    [IDLE] = { N_CHANNELS, AF_UNSPEC },
};

/* So many messages ahead one is fetched. */
enum { AHEAD = 6 };

/* So often may the next dump be asked for before the kernel says anything about this one. */
enum { MAX_FRUITLESS = 3 };

static int open_one(struct dump *dump, enum dump_channel index)
{
    struct epoll_event event = { .events = EPOLLIN };
    struct channel *channel = &dump->channels[index];
    int r = netlink_open(&channel->socket, channel_kinds[index].bus);

    if (r < 0)
        return r;
    if (epoll_ctl(dump->epoll_fd, EPOLL_CTL_ADD, mnl_socket_get_fd(channel->socket), &event) < 0)
        return -errno;
    return 0;
}

static struct reply_expected expect(const struct dump *dump, enum dump_channel index)
{
    return (struct reply_expected){
        .seq = dump->channels[index].seq,
        .portid = mnl_socket_get_portid(dump->channels[index].socket),
        .type = channel_kinds[index].data_type,
        .is_idle = !dump->channels[index].is_asked,
    };
}

static int receive(struct dump *dump, enum dump_channel index, size_t *lenp)
{
    return netlink_receive(dump->channels[index].socket, dump->buffer, sizeof(dump->buffer), lenp);
}

static int ask_for_sockets(struct dump *dump, uint32_t states)
{
    return request_sockets(&dump->channels[SOCKETS], dump->filter, dump->congestion_control,
                           states);
}

/* The kernel answers a request before send(2) returns. */
static int receive_end(struct dump *dump)
{
    struct reply_expected expected = expect(dump, SOCKETS);
    struct walk walk = { .at = dump->buffer };
    const struct nlmsghdr *message;
    struct reply reply = { .kind = REPLY_STRAY };
    int r = receive(dump, SOCKETS, &walk.left);

    if (r < 0)
        return r;
    message = r == 0 ? walk_message(&walk) : NULL;
    if (message)
        reply = reply_read(message, &expected);
    return reply.kind == REPLY_END ? reply.error : -EBADMSG;
}

/*
 * The kernel takes tests of marks from those only to whom it tells marks. Better to hear so here
 * than with the first dump: it is asked for sockets in no state at all.
 */
static int check_filter(struct dump *dump, struct riptide_error *error)
{
    size_t n_bytes;
    int r;

    filter_get(dump->filter, &n_bytes);
    if (n_bytes == 0)
        return 0;
    r = ask_for_sockets(dump, 0);
    if (r == 0)
        r = receive_end(dump);
    request_abandon(&dump->channels[SOCKETS]);
    if (r == -EPERM)
        error_set_field(error, "observer.scope.mark",
                        "the kernel tells marks only to CAP_NET_ADMIN");
    else if (r < 0)
        error_set(error, "sock_diag refuses the filter: %s", strerror(-r));
    return r;
}

void dump_init(struct dump *dump)
{
    dump->epoll_fd = -1;
}

int dump_open(struct dump *dump, struct riptide_error *error)
{
    int r;

    dump->phase = IDLE;
    dump->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (dump->epoll_fd < 0) {
        r = -errno;
        error_set(error, "epoll fd: %s", strerror(-r));
        return r;
    }
    for (enum dump_channel i = 0; i < N_CHANNELS; i++) {
        r = open_one(dump, i);
        if (r < 0) {
            error_set(error, "%s socket: %s", channel_kinds[i].name, strerror(-r));
            return r;
        }
    }
    return check_filter(dump, error);
}

void dump_close(struct dump *dump)
{
    for (enum dump_channel i = 0; i < N_CHANNELS; i++)
        netlink_close(dump->channels[i].socket);
    closep(&dump->epoll_fd);
    local_set_deinit(&dump->local);
    local_set_deinit(&dump->next_local);
}

/* What the kernel still sends for the dump under way is old from now on. */
static void abandon(struct dump *dump)
{
    for (enum dump_channel i = 0; i < N_CHANNELS; i++)
        request_abandon(&dump->channels[i]);
}

static int give_up(struct dump *dump, int error)
{
    abandon(dump);
    dump->phase = IDLE;
    dump->say_restarted = false;
    dump->stats->failures++;
    return error;
}

static int request_phase(struct dump *dump)
{
    enum dump_channel index = phases[dump->phase].channel;
    int r;

    if (!netlink_is_empty(dump->channels[index].socket)) {
        dump->channels[index].is_waiting = true;
        return 0;
    }
    r = index == ROUTES ? request_local(&dump->channels[ROUTES], phases[dump->phase].family)
                        : ask_for_sockets(dump, 1 << TCP_ESTABLISHED);
    return r < 0 ? give_up(dump, r) : 0;
}

static bool is_waiting(const struct dump *dump)
{
    return dump->phase != IDLE && dump->channels[phases[dump->phase].channel].is_waiting;
}

static int begin(struct dump *dump)
{
    local_set_clear(&dump->next_local);
    dump->phase = LOCAL4;
    return request_phase(dump);
}

int dump_start(struct dump *dump)
{
    if (dump->phase != IDLE && ++dump->n_fruitless > MAX_FRUITLESS)
        return give_up(dump, -ETIMEDOUT);
    if (is_waiting(dump))
        return request_phase(dump);
    if (!dump_is_idle(dump))
        return -EBUSY;
    dump->restarts_left = dump->max_restarts;
    dump->n_fruitless = 0;
    return begin(dump);
}

/* Whether another attempt may go better. The last two are datagrams that came incomplete. */
static bool is_transient(int error)
{
    return error == -EINTR || error == -EAGAIN || error == -ENOBUFS || error == -EMSGSIZE ||
           error == -EBADMSG;
}

/* Part of the dump is lost: begins anew or gives up. Outcomes: RIPTIDE_E_RESTARTED. */
static int lose(struct dump *dump, int error)
{
    int r;

    if (!is_transient(error) || dump->restarts_left == 0)
        return give_up(dump, error);
    abandon(dump);
    dump->restarts_left--;
    dump->stats->restarts++;
    dump->say_restarted = true;
    r = begin(dump);
    return r < 0 ? r : RIPTIDE_E_RESTARTED;
}

/* Counts what cannot be told to be about a socket as one, so that the sum of counters holds. */
static void count_malformed(struct dump *dump)
{
    dump->stats->sockets++;
    dump->stats->malformed++;
}

static void take_local(struct dump *dump)
{
    struct local_set before = dump->local;

    local_set_sort(&dump->next_local);
    dump->local = dump->next_local;
    dump->next_local = before;
}

static int end_phase(struct dump *dump, int error)
{
    enum dump_channel index = phases[dump->phase].channel;

    /* A dump that was given up still runs on this socket: its end lets us in. */
    if (error == -EBUSY) {
        dump->channels[index].is_waiting = true;
        return 0;
    }
    /* The kernel makes a table with its first route: without an own address there is none. */
    if (error == -ENOENT && index == ROUTES)
        error = 0;
    if (error < 0)
        return lose(dump, error);

    request_abandon(&dump->channels[index]);
    if (dump->phase == LOCAL6)
        take_local(dump);
    dump->phase++;
    if (dump->phase != IDLE)
        return request_phase(dump);
    dump->stats->dumps++;
    dump->say_done = true;
    return 0;
}

static int add_local(struct dump *dump, const struct nlmsghdr *message)
{
    struct walk payload = message_payload(message);
    int r = local_set_add_route(&dump->next_local, payload.at, payload.left);

    if (r == RIPTIDE_E_INVALID)
        count_malformed(dump);
    return r < 0 ? lose(dump, r) : 0;
}

/*
 * Acts on one message; those about sockets stay for dump_pop.
 * Outcomes: RIPTIDE_E_RESTARTED, the rest of the datagram is old.
 */
static int take_message(struct dump *dump, enum dump_channel index, const struct nlmsghdr *message)
{
    struct reply_expected expected = expect(dump, index);
    struct reply reply = reply_read(message, &expected);

    if (reply.interrupted)
        return lose(dump, -EINTR);
    switch (reply.kind) {
    case REPLY_DATA:
        return index == ROUTES ? add_local(dump, message) : 0;
    case REPLY_END:
        return end_phase(dump, reply.error);
    case REPLY_STRAY:
        count_malformed(dump);
        break;
    case REPLY_OLD:
    case REPLY_NOTHING:
        break;
    }
    return 0;
}

static int take_datagram(struct dump *dump, enum dump_channel index, size_t len)
{
    struct walk all = { dump->buffer, len }, walk = all;
    struct reply_expected expected = expect(dump, index);
    bool is_asked = index == SOCKETS && !expected.is_idle, is_plain = !dump->say_restarted;
    const struct nlmsghdr *message;
    int r;

    while ((message = walk_message(&walk))) {
        /* Where the next one lies this one tells: without a guess each step would wait for memory.
         */
        __builtin_prefetch(walk.at + (size_t)AHEAD * message->nlmsg_len);
        if (is_asked && reply_is_data(message, &expected))
            continue;
        is_plain = false;
        r = take_message(dump, index, message);
        if (r != 0)
            return r;
    }
    if (walk.left > 0) {
        count_malformed(dump);
        return phases[dump->phase].channel == index ? lose(dump, -EBADMSG) : 0;
    }
    if (is_asked) {
        dump->unread = all;
        dump->is_plain = is_plain;
        dump->unread_expected = expected;
    }
    return 0;
}

int dump_dispatch(struct dump *dump)
{
    enum dump_channel index = phases[dump->phase].channel == ROUTES ? ROUTES : SOCKETS;
    size_t len;
    int r;

    if (dump->unread.left > 0)
        return 0;
    r = receive(dump, index, &len);
    if (r == RIPTIDE_E_AGAIN) {
        /* On the other one only the rest of an old dump can wait; unread it would keep the fd
         * readable for good. */
        index = index == ROUTES ? SOCKETS : ROUTES;
        r = receive(dump, index, &len);
    }
    if (r == 0) {
        dump->n_fruitless = 0;
        r = take_datagram(dump, index, len);
    } else if (r == RIPTIDE_E_INVALID) {
        count_malformed(dump);
    } else if (r < 0) {
        dump->stats->truncated += r == -EMSGSIZE;
        r = phases[dump->phase].channel == index ? lose(dump, r) : 0;
    }
    if (r >= 0 && is_waiting(dump))
        r = request_phase(dump);
    return r < 0 || r == RIPTIDE_E_AGAIN ? r : 0;
}

bool dump_is_idle(const struct dump *dump)
{
    return dump->phase == IDLE && !dump->say_done;
}

const struct nlmsghdr *dump_find_data(struct dump *dump)
{
    const struct nlmsghdr *message;

    if (dump->say_restarted)
        return NULL;
    do
        message = walk_message(&dump->unread);
    while (message && !reply_is_data(message, &dump->unread_expected));
    return message;
}

/* At most one of the two is to be said: a dump that begins anew has not ended. */
int dump_take_word(struct dump *dump)
{
    if (dump->say_restarted) {
        dump->say_restarted = false;
        return RIPTIDE_E_RESTARTED;
    }
    if (dump->say_done) {
        dump->say_done = false;
        return RIPTIDE_E_DONE;
    }
    return RIPTIDE_E_AGAIN;
}
