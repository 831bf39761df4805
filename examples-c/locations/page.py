#!/usr/bin/env python3
"""Serves the page on 127.0.0.1: page.py [PORT [STOMP.JS]].

The libraries come from where Debian's packages lay them down, and nothing else of this machine is served: stomp.js is that
of RabbitMQ's web_stomp_examples, which is the original, unless another one is named."""

from __future__ import annotations

import http.server
import mimetypes
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEAFLET = Path("/usr/share/javascript/leaflet")
OUTLINE = Path("/usr/share/doc/gnuplot/examples/world.dat")
ORIGINAL = "rabbitmq_server-*/plugins/rabbitmq_web_stomp_examples-*/priv/stomp.js"


def original_stomp() -> Path | None:
    return next(iter(sorted(Path("/usr/lib/rabbitmq/lib").glob(ORIGINAL))), None)


def files(stomp: Path | None) -> dict[str, Path]:
    """What is served, by its path."""
    own = {f"/{name}": HERE / name for name in ("locations.html", "locations.css", "locations.js", "map.js")}
    leaflet = {f"/leaflet/{name}": LEAFLET / name for name in ("leaflet.css", "leaflet.min.js")}
    others = {"/": HERE / "locations.html", "/world.dat": OUTLINE}
    return own | leaflet | others | ({"/stomp.js": stomp} if stomp else {})


def server(port: int = 0, stomp: Path | None = None) -> http.server.ThreadingHTTPServer:
    """Port 0: any. The caller runs serve_forever()."""
    served = files(stomp or original_stomp())

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = served.get(self.path.partition("?")[0])
            if not path or not path.is_file():
                self.send_error(404)
                return
            body = path.read_bytes()
            self.send_response(200)
            kind = mimetypes.guess_type(path.name)[0] if path.suffix in (".html", ".css", ".js") else "text/plain"
            self.send_header("Content-Type", f"{kind};charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            # The browser keeps the promise that nothing comes from elsewhere; the broker is another port.
            self.send_header("Content-Security-Policy", "default-src 'self'; connect-src 'self' ws: wss:; "
                             "img-src 'self' data:; style-src 'self' 'unsafe-inline'")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main(arguments: list[str]) -> int:
    if len(arguments) > 2 or arguments and not arguments[0].isdecimal():
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    stomp = Path(arguments[1]) if len(arguments) > 1 else None
    page = server(int(arguments[0]) if arguments else 0, stomp)
    print(f"http://127.0.0.1:{page.server_port}/", flush=True)
    try:
        page.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
