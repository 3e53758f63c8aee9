/* SPDX-License-Identifier: MIT */
/* The order of requests, and the end of incomplete answers. */
#include "observe/dump.h"

#include "route.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

/* Prefetch distance, in messages. */
enum { AHEAD = 6 };

/* Calls of dump_start that are refused while the kernel sends nothing; the next gives it up. */
enum { MAX_FRUITLESS_STARTS = 3 };

/*
 * Requests both families in one walk over all sockets, which is most of the cost of a filtered
 * dump: the older TCPDIAG_GETSOCK can do this, SOCK_DIAG_BY_FAMILY cannot.
 */
static int ask_for_sockets(struct dump *dump)
{
    /* A server that closes after its last data is in FIN_WAIT1 while the data is in flight. */
    const struct inet_diag_req diag = {
        .idiag_states = 1 << TCP_ESTABLISHED | 1 << TCP_FIN_WAIT1,
        .idiag_ext = 1 << (INET_DIAG_INFO - 1),
    };
    struct nlmsghdr *request;
    struct nlattr *attr;
    struct iovec parts[2];
    const struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
    size_t n_bytes;
    const void *code = filter_get(dump->filter, &n_bytes);

    request = netlink_begin(netlink_room(&dump->netlink), TCPDIAG_GETSOCK, NLM_F_DUMP, &diag,
                            sizeof(diag));
    if (n_bytes > 0) {
        attr = mnl_nlmsg_get_payload_tail(request);
        mnl_attr_put(request, INET_DIAG_REQ_BYTECODE, 0, NULL);
        attr->nla_len = (uint16_t)(attr->nla_len + n_bytes);
    }
    parts[0] = (struct iovec){ request, request->nlmsg_len };
    parts[1] = (struct iovec){ (void *)code, n_bytes };
    request->nlmsg_len += (uint32_t)n_bytes;
    request->nlmsg_seq = ++dump->seq;
    return sendmsg(mnl_socket_get_fd(dump->sockets), &msg, 0) < 0 ? -errno : 0;
}

int dump_open(struct dump *dump)
{
    int r = netlink_open(&dump->netlink.socket, NETLINK_ROUTE, 0);

    if (r == 0)
        r = netlink_open(&dump->sockets, NETLINK_SOCK_DIAG, 0);
    if (r == 0)
        dump->portid = mnl_socket_get_portid(dump->sockets);
    return r;
}

void dump_close(struct dump *dump)
{
    netlink_close(dump->netlink.socket);
    netlink_close(dump->sockets);
    prefix_set_deinit(&dump->local);
}

static int give_up(struct dump *dump, int error)
{
    dump->phase = DUMP_IDLE;
    dump->unread.left = 0;
    dump->stats->failures++;
    return error;
}

int local_add_route(struct prefix_set *local, const struct nlmsghdr *message)
{
    struct route route;
    int r = route_parse(&route, message);

    /* Kernels without strict checking (before 4.20) ignore the request's table and dump all. */
    if (r < 0 || route.type != RTN_LOCAL || route.table != RT_TABLE_LOCAL)
        return r;
    /* Every host has 127.0.0.0/8, and sample.c recognizes peers in it without a search. */
    if (route.dst.family == AF_INET && route.dst.addr[0] == 127)
        return 0;
    return prefix_set_add(local, &route.dst, true);
}

static int take_route(void *userdata, const struct nlmsghdr *message)
{
    struct dump *dump = userdata;
    int r = -EBADMSG;

    if (message->nlmsg_type == RTM_NEWROUTE)
        r = local_add_route(&dump->local, message);
    dump->stats->left_out += r == -EBADMSG;
    return r == -EBADMSG ? 0 : r;
}

/* Requests the routes of the table `local`, of all families. */
static int read_local(struct dump *dump)
{
    const struct rtmsg route = { .rtm_table = RT_TABLE_LOCAL, .rtm_type = RTN_LOCAL };
    struct prefix_set before = dump->local;
    int r;

    dump->local = (struct prefix_set){ 0 };
    r = netlink_dump(&dump->netlink, netlink_begin(netlink_room(&dump->netlink), RTM_GETROUTE,
                                                   NLM_F_DUMP, &route, sizeof(route)));
    while (r == 0)
        r = netlink_dump_step(&dump->netlink, take_route, dump);
    dump->stats->left_out += dump->netlink.malformed;
    dump->netlink.malformed = 0;
    if (r < 0) {
        prefix_set_deinit(&dump->local);
        dump->local = before;
        return r;
    }
    /* Even if they changed meanwhile: the next dump has what this one has missed. */
    prefix_set_finish(&dump->local);
    prefix_set_deinit(&before);
    return 0;
}

/* Waits until all old messages are read. */
static int ask(struct dump *dump)
{
    int r;

    dump->phase = DUMP_WAITING;
    if (!netlink_is_empty(dump->sockets))
        return 0;
    dump->phase = DUMP_RUNNING;
    r = ask_for_sockets(dump);
    return r < 0 ? give_up(dump, r) : 0;
}

int dump_start(struct dump *dump)
{
    int r;

    if ((dump->phase == DUMP_WAITING || dump->phase == DUMP_RUNNING) &&
        ++dump->n_fruitless > MAX_FRUITLESS_STARTS)
        return give_up(dump, -ETIMEDOUT);
    if (dump->phase == DUMP_WAITING && (r = ask(dump)) < 0)
        return r;
    if (dump->phase != DUMP_IDLE)
        return -EBUSY;
    dump->n_fruitless = 0;
    r = read_local(dump);
    return r < 0 ? give_up(dump, r) : ask(dump);
}

/* The answer has come to its end, or an error takes its place. */
static int end(struct dump *dump, int error)
{
    /* A dump that was given up still runs on this socket; after its end the request is repeated. */
    if (error == -EBUSY) {
        dump->phase = DUMP_WAITING;
        return 0;
    }
    if (error < 0)
        return give_up(dump, error);
    dump->phase = DUMP_ENDED;
    dump->stats->dumps++;
    return 0;
}

static int take_datagram(struct dump *dump, size_t len)
{
    struct netlink_walk all = { (void *)dump->netlink.buffer, len }, walk = all;
    const struct nlmsghdr *message;
    int r;

    while ((message = netlink_next_message(&walk))) {
        bool is_answer = message->nlmsg_seq == dump->seq && message->nlmsg_pid == dump->portid;
        uint16_t type = message->nlmsg_type;

        /*
         * The next message is about as far away as this one is long; without prefetching each step
         * would wait for memory.
         */
        __builtin_prefetch((const char *)walk.next + (size_t)AHEAD * message->nlmsg_len);
        if (is_answer && type == TCPDIAG_GETSOCK)
            continue;
        if (is_answer && (type == NLMSG_DONE || type == NLMSG_ERROR)) {
            r = end(dump, netlink_end_error(message));
            /* While it waits, all later messages are old. */
            if (r < 0 || dump->phase == DUMP_WAITING)
                return r;
        } else {
            dump->stats->left_out += type != NLMSG_NOOP;
        }
        /* dump_pop reads only the type. */
        ((struct nlmsghdr *)message)->nlmsg_type = NLMSG_NOOP;
    }
    if (walk.left > 0) {
        dump->stats->left_out++;
        return give_up(dump, -EBADMSG);
    }
    dump->unread = all;
    return 0;
}

int dump_dispatch(struct dump *dump)
{
    size_t len = 0;
    int r;

    if (dump->unread.left > 0 || dump->phase == DUMP_ENDED)
        return 0;
    r = netlink_receive(dump->sockets, dump->netlink.buffer, NETLINK_BUFFER_BYTES, &len);
    if (r != RIPTIDE_E_AGAIN)
        dump->n_fruitless = 0;
    dump->stats->left_out += r == RIPTIDE_E_INVALID;
    /* Where nothing was asked for it is old, and dropped, as are errors. */
    if (dump->phase == DUMP_RUNNING && r < 0)
        return give_up(dump, r);
    if (dump->phase == DUMP_RUNNING && r == 0 && (r = take_datagram(dump, len)) < 0)
        return r;
    if (dump->phase == DUMP_WAITING && netlink_is_empty(dump->sockets))
        return ask(dump);
    return r == RIPTIDE_E_AGAIN ? r : 0;
}
