from support.home import Home, error, success


def test_adding_listing_and_deleting_for_people(home: Home) -> None:
    made = home.lines("key", "add", "laptop", "--auto").strip()
    secret = made.removeprefix("API key 'laptop' added — secret (shown once): ")
    assert secret.startswith("op-")
    assert len(secret) == 51
    assert home.lines("key", "add", "ci", "a-secret-of-mine") == "API key added successfully\n"
    assert home.lines("key", "list") == (
        f"API Keys:\n  laptop [{secret[:4]}…{secret[-4:]}] (active)\n  ci [a-se…mine] (active)\n"
    )
    assert home.lines("key", "disable", "ci") == "disabled key 'ci'\n"
    assert home.lines("key", "get", "ci").splitlines()[1:] == ["  key:    a-se…mine", "  active: false"]
    assert home.lines("key", "enable", "ci") == "enabled key 'ci'\n"
    first, second = home.lines("key", "rotate", "ci").splitlines()
    assert (first, second[:14], len(second)) == ("rotated key 'ci'", "  new key: op-", 11 + 51)
    assert home.lines("key", "delete", "ci") == "deleted key 'ci'\n"
    assert home.lines("key", "delete", "ci") == "key 'ci' not found (no-op)\n"


def test_every_envelope(home: Home) -> None:
    added = home.data("key", "add", "ci", "-", stdin=b"a-secret-of-mine\n")
    assert added == {
        "id": added["id"],
        "name": "ci",
        "key": "a-secret-of-mine",
        "machineId": None,
        "isActive": True,
        "createdAt": added["createdAt"],
        "applied_via": "db",
    }
    shown = {name: value for name, value in added.items() if name != "applied_via"} | {"key": "a-se…mine"}
    assert home.robot("key", "list") == (0, success("key.list", {"keys": [shown]}))
    got = {
        "id": added["id"],
        "name": "ci",
        "keyMasked": "a-se…mine",
        "isActive": True,
        "createdAt": added["createdAt"],
    }
    assert home.robot("key", "get", added["id"]) == (0, success("key.get", got))
    rotated = home.data("key", "rotate", "ci")
    assert rotated == {
        "name": "ci",
        "newKey": rotated["newKey"],
        "newKeyMasked": f"{rotated['newKey'][:4]}…{rotated['newKey'][-4:]}",
    }
    assert home.robot("key", "disable", "ci") == (0, success("key.disable", {"key": "ci", "active": False}))
    assert home.robot("key", "enable", "ci") == (0, success("key.enable", {"key": "ci", "active": True}))
    assert home.robot("key", "delete", "ci") == (0, success("key.delete", {"key": "ci", "deleted": True}))
    assert home.robot("key", "delete", "ci") == (0, success("key.delete", {"key": "ci", "deleted": False}))
    assert home.robot("key", "delete", "ci", "--strict") == (3, error("not_found", "key 'ci' not found"))
    assert home.robot("key", "rotate", "ci") == (3, error("not_found", "key 'ci' not found"))


def test_k2_a_key_needs_one_secret(home: Home) -> None:
    missing = (
        "missing key secret. Pass a value positionally (`openproxy key add <NAME> <SECRET>`) "
        "or use `--auto` to generate one."
    )
    both = "pass either a secret value positionally or --auto, not both"
    assert home.robot("key", "add", "ci") == (2, error("usage", missing))
    assert home.robot("key", "add", "ci", "a-secret-of-mine", "--auto") == (7, error("validation", both))
    assert home.robot("key", "add", "ci", "short") == (7, error("validation", "A key needs 8 characters or more"))
    home.run("key", "add", "ci", "a-secret-of-mine")
    assert home.robot("key", "add", "other", "a-secret-of-mine") == (
        4,
        error("conflict", "There is a key with this secret already"),
    )


def test_a_document_of_keys(home: Home) -> None:
    home.run("key", "add", "kept", "a-secret-of-mine")
    home.run("key", "add", "changed", "former-secret")
    home.run("key", "add", "gone", "unwanted-secret")
    document = (
        b'{"keys": [{"name": "kept"}, {"name": "changed", "key": "later-secret", "isActive": false}, {"name": "new"}]}'
    )
    applied = home.data("key", "apply", "--prune", stdin=document)
    assert applied == {
        "diff": {"created": ["new"], "updated": ["changed"], "unchanged": ["kept"], "deleted": ["gone"]},
        "summary": "1 created, 1 updated, 1 unchanged, 1 deleted",
        "prune": True,
        "newKeys": {"new": applied["newKeys"]["new"]},
    }
    assert applied["newKeys"]["new"].startswith("op-")
    listed = home.data("key", "list")["keys"]
    assert {key["name"]: key["isActive"] for key in listed} == {"kept": True, "changed": False, "new": True}
    bad = "bad key document: entry 1 has the unknown field 'secret'; known are isActive, key, name"
    assert home.robot("key", "apply", "--from-file", '[{"name": "a", "secret": "b"}]') == (7, error("validation", bad))
    bad = "bad key document: the name 'a' stands twice"
    assert home.robot("key", "apply", "--from-file", '[{"name": "a"}, {"name": "a"}]') == (7, error("validation", bad))
