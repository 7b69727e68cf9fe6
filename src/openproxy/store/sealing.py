"""Secrets at rest: AES-256-GCM records under a key that comes from a passphrase or from `secret.key`.

A record is `sealed.<key version>.<base64url of nonce, ciphertext and tag>`. Its associated data is the place where it
is kept (a row and a field), so that a record copied elsewhere does not open.
"""

import base64
import binascii
import os
from dataclasses import dataclass, field

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
SALT_BYTES = 16
_NONCE_BYTES = 12
_TAG_BYTES = 16
_PREFIX = "sealed"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one Argon2id derivation costs, for passphrases and for passwords (contracts/gateway.md, section 6.3)."""

    time: int = 3
    """Passes."""
    memory_kib: int = 65_536
    lanes: int = 1


class Unopenable(Exception):
    """A record that this key does not open: altered, copied from another place, or sealed under another key."""


@dataclass(frozen=True, slots=True)
class SealKey:
    """One version of the key, ready to use."""

    version: int
    secret: bytes = field(repr=False)
    """32 bytes."""

    def seal(self, plain: str, place: str) -> str:
        """The record of `plain` for `place`, under a fresh nonce."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = AESGCM(self.secret).encrypt(nonce, plain.encode("utf-8", "surrogatepass"), self._bound(place))
        return f"{_PREFIX}.{self.version}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def unseal(self, record: str, place: str) -> str:
        """The text that was sealed for `place`. Raises Unopenable."""
        parts = record.split(".")
        if len(parts) != 3 or version_of(record) != self.version:
            raise Unopenable
        try:
            blob = base64.b64decode(parts[2], altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise Unopenable from None
        if len(blob) < _NONCE_BYTES + _TAG_BYTES:
            raise Unopenable
        try:
            plain = AESGCM(self.secret).decrypt(blob[:_NONCE_BYTES], blob[_NONCE_BYTES:], self._bound(place))
        except InvalidTag:
            raise Unopenable from None
        return plain.decode("utf-8", "surrogatepass")

    def _bound(self, place: str) -> bytes:
        return f"openproxy:{self.version}:{place}".encode()


def version_of(record: str) -> int:
    """The key version that a record names. Raises Unopenable where it is no record."""
    parts = record.split(".")
    if len(parts) != 3 or parts[0] != _PREFIX or not (parts[1].isascii() and parts[1].isdigit()):
        raise Unopenable
    return int(parts[1])


def new_salt() -> bytes:
    """16 random bytes."""
    return os.urandom(SALT_BYTES)


def from_passphrase(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    """32 bytes by Argon2id; takes about a tenth of a second and `cost.memory_kib` of memory."""
    return hash_secret_raw(
        passphrase.encode("utf-8", "surrogateescape"),
        salt,
        time_cost=cost.time,
        memory_cost=cost.memory_kib,
        parallelism=cost.lanes,
        hash_len=KEY_BYTES,
        type=Type.ID,
    )


def from_random_key(key: bytes, salt: bytes) -> bytes:
    """32 bytes by HKDF-SHA-256: a key that is random already needs no costly derivation."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=b"openproxy seal").derive(key)
