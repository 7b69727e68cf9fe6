from collections.abc import Callable

from fakes.recorder import Recorder
from support.home import Home, error, success

SECRET = "gsk_0123456789abcdef"


def test_accounts_of_the_local_database(home: Home) -> None:
    document = '{"provider": "dg", "apiKey": "dg-secret-0123", "priority": 5, "extra": {"note": "primary"}}'
    added = home.data("provider", "add", "main", document)
    assert added == {
        "id": added["id"],
        "provider": "deepgram",
        "authType": "api_key",
        "name": "main",
        "priority": 5,
        "isActive": True,
        "apiKey": None,
        "accessToken": None,
        "refreshToken": None,
        "hasApiKey": True,
        "hasAccessToken": False,
        "hasRefreshToken": False,
        "providerSpecificData": {"mediaType": "stt", "note": "primary"},
        "rateLimitedUntil": None,
        "backoffLevel": 0,
        "createdAt": added["createdAt"],
        "updatedAt": added["updatedAt"],
    }
    assert home.robot("provider", "list") == (0, success("provider.list", {"providers": [added]}))
    edited = home.data(
        "provider", "edit", "deepgram", "--priority", "1", "--default-model", "nova-2", "--name", "first"
    )
    specific = {"mediaType": "stt", "note": "primary", "defaultModel": "nova-2"}
    changes = {"priority": 1, "name": "first", "providerSpecificData": specific, "updatedAt": edited["updatedAt"]}
    assert edited == added | changes
    switched = {"id": added["id"], "name": "first", "active": False}
    assert home.robot("provider", "disable", "first") == (0, success("provider.disable", switched))
    assert home.lines("provider", "list") == f"Providers:\n  first  deepgram  priority 1  (inactive)  {added['id']}\n"
    assert home.lines("provider", "delete", added["id"]) == "deleted provider 'first'\n"
    assert home.robot("provider", "get", "first") == (3, error("not_found", "connection 'first' not found"))


def test_what_is_no_account(home: Home) -> None:
    def bad(document: str) -> str:
        status, told = home.robot("provider", "add", "main", document)
        assert (status, told["error"]["code"]) == (7, "validation")
        return str(told["error"]["message"]).removeprefix("bad provider document: ")

    assert bad('{"provider": "nvidia", "apiKey": "x"}') == "Provider 'nvidia' does not support STT"
    assert bad('{"provider": "groq", "apikey": "x"}').startswith("there is no field 'apikey'; known are apiKey, ")
    assert bad('{"apiKey": "x"}') == "Provider is required"
    assert bad('{"provider": "groq", "baseUrl": "ftp://x"}') == "baseUrl is not an http or https address"


def test_a_document_of_accounts(home: Home) -> None:
    home.run("provider", "add", "kept", f'{{"provider": "groq", "apiKey": "{SECRET}"}}')
    home.run("provider", "add", "gone", f'{{"provider": "groq", "apiKey": "{SECRET}"}}')
    document = (
        '[{"provider": "groq", "name": "kept"}, {"provider": "groq", "name": "new", "apiKey": "gsk_x", "priority": 2}]'
    )
    diff = {"created": ["groq/new"], "updated": [], "unchanged": ["groq/kept"], "deleted": ["groq/gone"]}
    told = {"diff": diff, "summary": "1 created, 0 updated, 1 unchanged, 1 deleted", "prune": True, "dry_run": True}
    arguments = ("provider", "apply", "--from-file", document, "--prune")
    assert home.robot(*arguments, "--dry-run") == (0, success("provider.apply", told))
    assert home.robot(*arguments) == (0, success("provider.apply", told | {"dry_run": False}))
    assert [one["name"] for one in home.data("provider", "list")["providers"]] == ["kept", "new"]
    assert home.lines("provider", "apply", "--from-file", document.replace(": 2", ": 3")) == (
        "provider apply: 0 created, 1 updated, 1 unchanged, 0 deleted\n  updated groq/new\n"
    )


def test_trying_an_account(home: Home, upstream: Callable[..., Recorder]) -> None:
    stub = upstream({"text": ""}, (401, {"error": {"message": f"Incorrect API key provided: {SECRET}"}}))
    home.run("provider", "add", "main", f'{{"provider": "groq", "apiKey": "{SECRET}", "baseUrl": "{stub.url}"}}')
    tried = home.data("provider", "test", "main")
    assert tried == {
        "id": tried["id"],
        "name": "main",
        "provider": "groq",
        "model": "whisper-large-v3",
        "working": True,
        "seconds": tried["seconds"],
    }
    assert (stub.seen[0].path, stub.seen[0].headers["authorization"]) == (
        "/openai/v1/audio/transcriptions",
        f"Bearer {SECRET}",
    )
    message = "provider 'main' (groq/m) does not work: Incorrect API key provided: [redacted]"
    told = error("auth", message, {"status": 401, "id": tried["id"]})
    assert home.robot("provider", "test", "main", "--model", "m") == (5, told)
