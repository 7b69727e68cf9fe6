import base64

import pytest
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from hypothesis import given
from hypothesis import strategies as st

from openproxy.store.sealing import Cost, SealKey, Unopenable, from_passphrase, from_random_key, version_of

KEY = SealKey(3, bytes(range(32)))
PLACE = "connections:mp-1:api_key"


@given(st.text())
def test_what_is_sealed_opens_again(plain):
    assert KEY.unseal(KEY.seal(plain, PLACE), PLACE) == plain


def test_a_record_names_its_key_version_and_hides_its_text():
    record = KEY.seal("sk-very-secret", PLACE)
    prefix, version, blob = record.split(".")
    assert (prefix, version) == ("sealed", "3")
    assert version_of(record) == 3
    assert len(base64.urlsafe_b64decode(blob)) == 12 + len("sk-very-secret") + 16
    assert b"sk-very-secret" not in base64.urlsafe_b64decode(blob)


def test_two_records_of_one_text_differ():
    assert len({KEY.seal("same", PLACE) for _ in range(100)}) == 100


def test_every_altered_byte_is_noticed():
    prefix, version, blob = KEY.seal("sk-1", PLACE).split(".")
    sealed = base64.urlsafe_b64decode(blob)
    for place in range(len(sealed)):
        altered = bytearray(sealed)
        altered[place] ^= 1
        with pytest.raises(Unopenable):
            KEY.unseal(f"{prefix}.{version}.{base64.urlsafe_b64encode(altered).decode()}", PLACE)


@pytest.mark.parametrize(
    "record",
    [
        "",
        "sealed",
        "sealed.3",
        "sealed.3.",
        "sealed.3.AAAA",
        "sealed.3.!!!!",
        "sealed.x.AAAA",
        "sealed.².AAAA",
        "sk-1",
        "opxenc2:AAAA",
    ],
)
def test_what_is_no_record_does_not_open(record):
    with pytest.raises(Unopenable):
        KEY.unseal(record, PLACE)


def test_a_record_opens_only_where_it_was_put():
    with pytest.raises(Unopenable):
        KEY.unseal(KEY.seal("sk-1", PLACE), "connections:mp-2:api_key")


def test_a_record_opens_only_under_its_key_and_version():
    record = KEY.seal("sk-1", PLACE)
    with pytest.raises(Unopenable):
        SealKey(3, bytes(32)).unseal(record, PLACE)
    with pytest.raises(Unopenable):
        SealKey(4, KEY.secret).unseal(record, PLACE)
    with pytest.raises(Unopenable):
        SealKey(4, KEY.secret).unseal(record.replace("sealed.3", "sealed.4"), PLACE)


def test_the_key_does_not_show_in_a_repr():
    assert repr(KEY) == "SealKey(version=3)"


def test_a_passphrase_is_derived_as_another_library_derives_it():
    salt = b"saltsaltsaltsalt"
    other = Argon2id(salt=salt, length=32, iterations=2, lanes=2, memory_cost=64).derive("zażółć".encode())
    assert from_passphrase("zażółć", salt, Cost(time=2, memory_kib=64, lanes=2)) == other
    assert from_passphrase("zażółć", salt, Cost(time=3, memory_kib=64, lanes=2)) != other


def test_a_random_key_gives_another_key_with_another_salt():
    assert from_random_key(b"k" * 32, b"a" * 16) != from_random_key(b"k" * 32, b"b" * 16)


def test_the_default_cost_is_the_contract_s():
    assert Cost() == Cost(time=3, memory_kib=65_536, lanes=1)
