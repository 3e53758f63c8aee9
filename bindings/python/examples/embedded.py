# SPDX-License-Identifier: MIT
"""A daemon that has an asyncio loop already, and gets an agent: no thread, no second process.

    embedded.py [--interval 1] [--policy paper]

The daemon here counts connections on a port of its own; the agent's work goes on between its
answers. SIGTERM and SIGINT take everything back. Needs CAP_NET_ADMIN.
"""

import argparse
import asyncio
import signal

import riptide


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What the daemon is there for."""
    writer.write(await reader.read(1024))
    await writer.drain()
    writer.close()


async def adapt(agent: riptide.Agent) -> None:
    """Runs the agent and says what it changes."""
    async for event in agent:
        if event.outcome:
            print(f"{event.outcome.dst}: {event.outcome.state.name.lower()} "
                  f"initcwnd {event.outcome.initcwnd} {event.outcome.reason}".rstrip(), flush=True)
        elif event.kind == riptide.AgentEventKind.FAILED:
            print(f"a round failed: {event.reason}", flush=True)


async def run(interval_s: float, policy: str) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"answering on port {server.sockets[0].getsockname()[1]}", flush=True)
    with riptide.Agent(interval=interval_s, estimator={"policy": policy}) as agent:
        agent.start()
        adapting = asyncio.create_task(adapt(agent))
        end = asyncio.create_task(ended.wait())
        done, _ = await asyncio.wait({adapting, end}, return_when=asyncio.FIRST_COMPLETED)
        for task in (adapting, end):
            task.cancel()
        await asyncio.gather(adapting, end, return_exceptions=True)
    server.close()
    if adapting in done:
        adapting.result()  # raises what the agent ended with


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interval", type=float, default=1, help="seconds between two rounds")
    parser.add_argument("--policy", default="careful", help="how windows are computed")
    given = parser.parse_args()
    asyncio.run(run(given.interval, given.policy))
