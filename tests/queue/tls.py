"""A server with TLS: a port before the embedded Postgres, which is built without it. What is checked is checked by libpq."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# https://www.postgresql.org/docs/current/protocol-message-formats.html, SSLRequest
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)


def certificate(folder: Path, host: str) -> Path:
    """A file with a self-signed certificate for `host`, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path = folder / f"{host}.pem"
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(pem) + private)
    return path


class TlsServer:
    """Listens on 127.0.0.1 from the moment it is made until `close`; speaks to the unix socket `server`."""

    def __init__(self, server: str, certificate: Path) -> None:
        self.certificate = certificate
        self._server = server
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.plain = 0  # connections that asked for no TLS
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:  # an SSLError is one: the client refuses the certificate
            if client.recv(8) != _SSL_REQUEST:
                self.plain += 1
                return
            client.sendall(b"S")
            with self._context.wrap_socket(client, server_side=True) as wrapped, socket.socket(socket.AF_UNIX) as server:
                server.connect(self._server)
                back = threading.Thread(target=_pump, args=(server, wrapped), daemon=True)
                back.start()
                _pump(wrapped, server)
                with suppress(OSError):
                    server.shutdown(socket.SHUT_RDWR)
                back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
