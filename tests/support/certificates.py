"""An authority of the tests' own, with a certificate for a server on 127.0.0.1 and one for a client."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Certificates:
    """Files in PEM format."""

    authority: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path

    def trust(self) -> ssl.SSLContext:
        """What a client needs that trusts the authority."""
        return ssl.create_default_context(cafile=self.authority)

    def present(self) -> ssl.SSLContext:
        """What a server needs that has the certificate for one."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.server, self.server_key)
        return context


def certificates(folder: Path) -> Certificates:
    """Makes them in a folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("authority of the tests")
    usage = x509.KeyUsage(
        **dict.fromkeys(("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False),
        **dict.fromkeys(("digital_signature", "key_cert_sign", "crl_sign"), True),
        encipher_only=False,
        decipher_only=False,
    )
    own = _builder(issuer, issuer, key).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    own = own.add_extension(usage, critical=True)
    authority = own.sign(key, hashes.SHA256())
    made = Certificates(
        *(folder / f"{name}.pem" for name in ("authority", "server", "server-key", "client", "client-key"))
    )
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for path, key_path in ((made.server, made.server_key), (made.client, made.client_key)):
        _issue(path, key_path, authority, key)
    return made


def _issue(path: Path, key_path: Path, authority: x509.Certificate, signing: ec.EllipticCurvePrivateKey) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    addresses = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key())
    builder = _builder(_name(path.stem), authority.subject, key).add_extension(addresses, critical=False)
    certificate = builder.add_extension(issuer_key, critical=False).sign(signing, hashes.SHA256())
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
