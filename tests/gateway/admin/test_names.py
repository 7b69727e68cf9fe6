"""/api/combos, /api/models/alias and /api/settings (contracts/gateway.md, section 1.7)."""

import pytest

from support.gateway_server import Gateway

COMBOS = "/api/combos"
ALIASES = "/api/models/alias"
SETTINGS = "/api/settings"


def told(response):
    return response.status_code, response.json()


def test_a_combo_is_kept_with_its_members(api):
    response = api.post(COMBOS, json={"name": "team.1", "models": ["groq/a", "dg/b"], "kind": "stt"})
    combo = response.json()
    assert response.status_code == 201
    assert combo == {
        "id": combo["id"],
        "name": "team.1",
        "models": ["groq/a", "dg/b"],
        "disabledModels": [],
        "kind": "stt",
        "createdAt": combo["createdAt"],
        "updatedAt": combo["createdAt"],
    }
    assert api.get(COMBOS).json() == {"combos": [combo]}
    assert api.get(f"{COMBOS}/{combo['id']}").json() == api.get(f"{COMBOS}/team.1").json() == combo
    changes = {"name": "other", "models": [], "disabledModels": ["x/y"], "kind": None}
    changed = api.put(f"{COMBOS}/{combo['id']}", json=changes).json()
    assert changed == {**combo, **changes, "updatedAt": changed["updatedAt"]}
    assert api.delete(f"{COMBOS}/{combo['id']}").json() == {"success": True, "message": "Combo deleted successfully"}
    for response in (
        api.get(f"{COMBOS}/other"),
        api.put(f"{COMBOS}/other", json={}),
        api.delete(f"{COMBOS}/other"),
        api.get(f"{COMBOS}/%00"),
    ):
        assert told(response) == (404, {"error": "Combo not found"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Name is required"),
        ({"name": ""}, "Name is required"),
        ({"name": "a b"}, "Name can only contain letters, numbers, -, _ and ."),
        ({"name": "größe"}, "Name can only contain letters, numbers, -, _ and ."),
        ({"name": "a/b"}, "Name can only contain letters, numbers, -, _ and ."),
        ({"name": "taken"}, "Combo name already exists"),
        ({"name": "x", "models": "groq/a"}, "models should be a valid list"),
        ({"name": "x", "models": ["a", None]}, "models[1] should be a valid string"),
        ({"name": "x", "kind": "k" * 65}, "kind should have at most 64 characters"),
    ],
)
def test_a_wrong_combo_is_refused(api, body, message):
    assert api.post(COMBOS, json={"name": "taken"}).status_code == 201
    assert told(api.post(COMBOS, json=body)) == (400, {"error": message})
    assert [combo["name"] for combo in api.get(COMBOS).json()["combos"]] == ["taken"]


def test_an_alias_routes_at_once(api, gateway: Gateway):
    model = "groq/whisper-large-v3-turbo"
    assert told(api.put(ALIASES, json={"model": model, "alias": "fast"})) == (
        200,
        {"success": True, "model": model, "alias": "fast"},
    )
    assert told(api.put(f"{ALIASES}/turbo", json={"target": "dg/nova-3"})) == (
        200,
        {"success": True, "model": "dg/nova-3", "alias": "turbo"},
    )
    assert api.get(ALIASES).json() == {"aliases": {"fast": model, "turbo": "dg/nova-3"}}
    assert api.get(f"{ALIASES}/turbo").json() == {"alias": "turbo", "target": "dg/nova-3"}
    error = gateway.post("turbo").json()["error"]
    assert error["message"] == "No credentials for provider: deepgram"


def test_a_bare_name_is_stored_with_its_provider(api):
    for model, routed in {"whisper-1": "openai/whisper-1", "gemini-2.5-flash": "gemini/gemini-2.5-flash"}.items():
        assert api.put(ALIASES, json={"model": model, "alias": "mine"}).json()["model"] == routed
    assert api.get(ALIASES).json() == {"aliases": {"mine": "gemini/gemini-2.5-flash"}}


@pytest.mark.parametrize("body", [{}, {"model": "a/b"}, {"alias": "x"}, {"model": " ", "alias": "x"}])
def test_an_alias_needs_both(api, body):
    assert told(api.put(ALIASES, json=body)) == (400, {"error": "Model and alias required"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": "/x", "alias": "a"}, "Invalid model format"),
        ({"model": "combo:x", "alias": "a"}, "An alias cannot stand for a combo"),
        ({"model": "a/b", "alias": "a/b"}, "An alias cannot hold a slash: such a name is always provider/model"),
        ({"model": "a/\x00", "alias": "a"}, "model holds characters that it cannot have"),
        ({"model": {"provider": "dg"}, "alias": "a"}, "model should be a valid string"),
    ],
)
def test_an_alias_that_could_not_work_is_refused(api, body, message):
    assert told(api.put(ALIASES, json=body)) == (400, {"error": message})
    assert api.get(ALIASES).json() == {"aliases": {}}


@pytest.mark.parametrize("path", [f"{ALIASES}?alias=fast", f"{ALIASES}/fast"])
def test_an_alias_can_be_deleted_once(api, path):
    api.put(f"{ALIASES}/fast", json={"target": "dg/nova-3"})
    assert told(api.delete(path)) == (200, {"success": True})
    assert told(api.delete(path)) == (404, {"error": "Alias not found"})
    assert told(api.get(f"{ALIASES}/fast")) == (404, {"error": "Alias not found"})
    assert told(api.delete(ALIASES)) == (400, {"error": "alias is required"})


def test_an_alias_of_two_parts_is_shown_as_it_is_stored(api, gateway):
    gateway.run(lambda store: store.aliases.set("old", {"provider": "dg", "model": "nova-3"}))
    assert api.get(ALIASES).json() == {"aliases": {"old": {"provider": "dg", "model": "nova-3"}}}
    assert api.get(f"{ALIASES}/old").json()["target"] == {"provider": "dg", "model": "nova-3"}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_settings_that_are_not_named_stay(api, method):
    default = {
        "requireLogin": True,
        "maxUploadBytes": 209_715_200,
        "uploadIdleSeconds": 300,
        "usageDays": 90,
        "formats": "verbatim",
    }
    assert api.get(SETTINGS).json() == default
    assert api.request(method, SETTINGS, json={"maxUploadBytes": 1000}).json() == {**default, "maxUploadBytes": 1000}
    changed = {**default, "requireLogin": False, "maxUploadBytes": 1000, "formats": "rendered"}
    assert api.request(method, SETTINGS, json={"requireLogin": False, "formats": "rendered"}).json() == changed
    assert api.get(SETTINGS).json() == changed
    assert api.get(f"{SETTINGS}/require-login").json() == {
        "requireLogin": False,
        "tunnelDashboardAccess": True,
        "tunnelUrl": "",
        "tailscaleUrl": "",
    }
    assert api.request(method, SETTINGS, json=dict.fromkeys(changed)).json() == default


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"requireLogin": "false"}, "requireLogin should be a valid boolean"),
        ({"requireLogin": 0}, "requireLogin should be a valid boolean"),
        ({"maxUploadBytes": 0}, "maxUploadBytes should be greater than or equal to 1"),
        ({"usageDays": -1}, "usageDays should be greater than or equal to 0"),
        ({"uploadIdleSeconds": 0}, "uploadIdleSeconds should be greater than or equal to 1"),
        ({"uploadIdleSeconds": 86_401}, "uploadIdleSeconds should be less than or equal to 86400"),
        ({"maxUploadBytes": "1000"}, "maxUploadBytes should be a valid integer"),
        ({"maxUploadBytes": 1.5}, "maxUploadBytes should be a valid integer"),
        ({"maxUploadBytes": 2**53}, "maxUploadBytes should be less than 9007199254740992"),
        ({"maxUploadBytes": 10**4000}, "maxUploadBytes should be less than 9007199254740992"),
        ({"formats": "srt"}, "formats should be 'verbatim' or 'rendered'"),
        ({"password": "x"}, "There is no field password here"),
        ([], "The body must be a JSON object"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_wrong_setting_is_refused(api, body, message):
    before = api.get(SETTINGS).json()
    assert told(api.patch(SETTINGS, json=body)) == (400, {"error": message})
    assert api.get(SETTINGS).json() == before


def test_the_upload_limit_holds_from_the_next_request(api, gateway):
    api.patch(SETTINGS, json={"maxUploadBytes": 2000})
    refused = gateway.post("groq/whisper-large-v3", bytes(4000))
    assert (refused.status_code, refused.json()["error"]["message"]) == (
        413,
        "Body too large: the limit is 2000 bytes",
    )
