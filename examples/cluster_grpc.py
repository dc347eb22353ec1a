"""Share one study through Optuna's gRPC proxy: any number of workers, and only the proxy is connected to the database.

    python examples/cluster_grpc.py

starts a proxy and two workers on this machine. On a cluster, one machine runs the proxy, and the others run workers:

    python examples/cluster_grpc.py --serve --address 0.0.0.0:13000 --storage postgresql+psycopg2://user@host/database
    python examples/cluster_grpc.py --address proxy-machine:13000 --workers 16

The proxy has neither passwords nor encryption: keep it inside your own network. It has no heartbeat, so trials of dead
workers are found by their age.
"""

from __future__ import annotations

import argparse
import multiprocessing
import socket
from functools import partial

import optuna
from cluster_database import share, show, study_in
from optuna.storages import GrpcStorageProxy, RDBStorage, get_storage, run_grpc_proxy_server


def serve(url: str, address: str) -> None:
    """Answer workers until the process ends."""
    host, _, port = address.rpartition(":")
    # A connection is tried before it is used: the database may have been restarted.
    storage = RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
    run_grpc_proxy_server(get_storage(storage), host=host, port=int(port))  # It keeps finished trials in memory.


def open_study(address: str) -> optuna.Study:
    host, _, port = address.rpartition(":")
    storage = GrpcStorageProxy(host=host, port=int(port))
    storage.wait_server_ready(timeout=60)
    return study_in(storage)


def free_address() -> str:
    """Of this machine: a proxy that only this script uses may have any port."""
    with socket.create_server(("localhost", 0)) as probe:
        return f"localhost:{probe.getsockname()[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help="run only the proxy, until Ctrl-C")
    parser.add_argument("--address", help="HOST:PORT of the proxy; without it, one is started on this machine")
    parser.add_argument("--storage", default="sqlite:///proxy.db?timeout=60", help="URL of the proxy's database")
    parser.add_argument("--workers", type=int, default=2, help="processes on this machine")
    parser.add_argument("--trials", type=int, default=40, help="finished trials the study should have in total")
    arguments = parser.parse_args()
    address = arguments.address or free_address()
    if arguments.serve:
        print(f"The proxy of {arguments.storage} listens at {address}.", flush=True)
        serve(arguments.storage, address)
        return
    proxy = multiprocessing.get_context("spawn").Process(target=serve, args=(arguments.storage, address))
    if not arguments.address:
        proxy.start()
    try:
        show(share(partial(open_study, address), arguments.workers, arguments.trials))
    finally:
        if not arguments.address:
            proxy.terminate()
            proxy.join()


if __name__ == "__main__":
    main()
