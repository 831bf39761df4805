"""Where a server can be reached."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Address:
    scheme: str
    host: str
    port: int  # 0: a unix socket
    path: str = ""

    @property
    def url(self) -> str:
        return self.url_for(self.host)

    def url_for(self, name: str) -> str:
        """With another name of the same host, such as localhost."""
        if not self.port:
            return f"{self.scheme}:{self.path}"
        return f"{self.scheme}://{f'[{name}]' if ':' in name else name}:{self.port}{self.path}"

    @property
    def options(self) -> list[str]:
        """For mosquitto_pub and mosquitto_sub, which know no WebSocket."""
        return ["-h", self.host, "-p", str(self.port)] if self.port else ["--unix", self.path]
