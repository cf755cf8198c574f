"""A program inside a container, started by the API of Docker or podman; arguments: TOKEN CONTAINER PROGRAM...

Passes on what the program says, and ends with its exit status (125: the API refused). Run as a process of the
node; whoever ends it early ends the program by `engine_pods.end_programs`.
"""

from __future__ import annotations

import sys

_REFUSED = 125


def main() -> int:
    """Start the program, copy its output until it ends, and return its status."""
    from docker import APIClient
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    from bmwg.drivers.containers.docker_daemon import socket_of

    token, container, *command = sys.argv[1:]
    try:
        docker = APIClient(base_url=f"unix://{socket_of(token)}", timeout=None, version="1.40")
        made = docker.exec_create(container, command, stdout=True, stderr=True, user="0:0")["Id"]
        for out, err in docker.exec_start(made, stream=True, demux=True):
            for stream, data in ((sys.stdout.buffer, out), (sys.stderr.buffer, err)):
                if data:
                    stream.write(data)
                    stream.flush()
        status = docker.exec_inspect(made)["ExitCode"]
    except (DockerException, RequestException) as error:
        print(f"the engine's API: {error}", file=sys.stderr)
        return _REFUSED
    return _REFUSED if status is None else int(status)


if __name__ == "__main__":
    raise SystemExit(main())
