import pytest
from hypothesis import given
from hypothesis import strategies as st

from openproxy.store.secret_fields import dumps, is_secret, join, loads, split

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["token", "apiKey"]), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text() | st.sampled_from(["secret", "my_password"]), VALUES))
def test_what_is_split_joins_again(data):
    public, secrets = split(data)
    text = dumps(secrets)
    assert join(public, loads(text) if text else {}) == data


@pytest.mark.parametrize(
    "name",
    [
        "secret",
        "clientSecret",
        "SECRET_ID",
        "token",
        "authToken",
        "key",
        "x-api-key",
        "apikey",
        "password",
        "dbPassword",
        "passphrase",
        "authorization",
        "Cookie",
        "credentials",
    ],
)
def test_a_name_says_secret(name):
    assert is_secret(name, "value")
    assert not is_secret(name, None)


@pytest.mark.parametrize(
    "name", ["mediaType", "baseUrl", "enabledModels", "authScheme", "pollTimeoutSeconds", "note", "prefix"]
)
def test_a_name_says_nothing(name):
    assert not is_secret(name, "value")


@pytest.mark.parametrize(
    ("address", "secret"),
    [
        ("https://host/v1", False),
        ("https://host/v1?version=2", False),
        ("https://host/v1?key=1", True),
        ("https://host/v1?version=2&access_token=1", True),
        ("https://user@host/", True),
        ("https://user:pass@host/", True),
        ("http://[::1]:8080/inference", False),
        ("http://[broken", True),
    ],
)
def test_an_address_may_carry_a_secret(address, secret):
    assert is_secret("baseUrl", address) is secret
