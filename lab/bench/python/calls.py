# SPDX-License-Identifier: MIT
"""Processor time of calls alone, without the interpreter's start, in turn with a command's.

    calls.py TURNS COMMAND...    seconds, one turn a line

The whole command, children included; columns of all connections; one Sample of a list, made and two
of its figures read.
"""

import resource
import subprocess
import sys
import time

import riptide


def used_s(work):
    start_s = time.process_time()
    result = work()
    return time.process_time() - start_s, result


def children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def command_s(command):
    before_s = children_s()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return children_s() - before_s


def main():
    riptide.observe_columns()  # numpy is imported by the first call
    for _ in range(int(sys.argv[1])):
        whole_s = command_s(sys.argv[2:])
        columns_s, columns = used_s(riptide.observe_columns)
        samples_s, samples = used_s(riptide.observe)
        n = len(columns["cwnd"])
        del columns
        read_s, total = used_s(lambda: sum(s.cwnd + s.rtt_us for s in samples))
        assert total and len(samples) == n
        del samples
        print(whole_s, columns_s, (samples_s - columns_s + read_s) / n, flush=True)


if __name__ == "__main__":
    main()
