"""The server: `python -m openenv_ttt.server.app --port 8000`, or `uvicorn server.app:app` in this folder."""

import argparse

from openenv.core.env_server.http_server import create_app

try:
    from ..models import TttAction, TttObservation
    from .environment import TttEnvironment
except ImportError:  # where the server's folder is the path, as in a container
    from models import TttAction, TttObservation
    from server.environment import TttEnvironment

app = create_app(TttEnvironment, TttAction, TttObservation, env_name="openenv_ttt", max_concurrent_envs=64)


def main() -> None:
    """Serve until it is interrupted."""
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; 0.0.0.0 lets other machines in")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    uvicorn.run(app, host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()
