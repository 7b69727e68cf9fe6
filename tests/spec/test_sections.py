"""The specification read from top to bottom: its lines, run as they stand, do what it says."""

import json
import re
from typing import Any

import httpx

from fakes import speech
from openproxy.version import __version__
from support.command import CASES
from support.document import Document
from support.home import success

ENDPOINT = "/v1/audio/transcriptions"
BODY = {"text": speech.TEXT, "usage": {"type": "duration", "seconds": 4}}
"""What OpenAI answers, passed on as it is."""


def heard(case: str) -> bytes:
    return (CASES / case).read_bytes()


def test_section_0_before_anything_is_there(document: Document):
    done = document.shell(document.lines("0a-detect"))
    path, version, envelope, status = done.stdout.splitlines()
    assert path.endswith("/bin/openproxy")
    assert version == f"openproxy {__version__}"
    assert json.loads(envelope)["schema"] == "openproxy.v1.server.status"
    assert status == "server not running"
    assert done.returncode == 7  # curl: nobody there
    assert not document.home.folder.exists()


def keys(document: Document) -> tuple[str, str, str]:
    """The commands of section 0 that give a key: generated, supplied, admin."""
    lines = document.lines("0c-key")
    generated = lines.splitlines()[0]
    [supplied] = re.findall(r"^# Or pass .+?: (.+)$", lines, re.M)
    [admin] = re.findall(r"^openproxy --robot server init .+$", lines, re.M)
    return generated, supplied, admin


def opens(document: Document, key: str) -> bool:
    return httpx.get(f"{document.url}/v1/models/stt", headers={"x-api-key": key}, timeout=30).status_code == 200


def test_section_0_detached_and_headless_with_a_generated_key(document: Document):
    started, _, listed = document.run("0b-start").partition("\n")
    assert re.fullmatch(rf"Started openproxy \(pid \d+\) on 127\.0\.0\.1:{document.port} — logs: \S+", started)
    assert ENDPOINT in json.loads(listed)
    detected = document.shell(document.lines("0a-detect"))
    assert detected.returncode == 0
    assert "server not running" not in detected.stdout
    assert detected.stdout.endswith('{"status":"ok","component":"api"}')
    document.blanks["<NAME>"] = "laptop"
    key = document.succeed(keys(document)[0]).split()[-1]
    assert re.fullmatch("op-[0-9a-f]{48}", key)
    assert opens(document, key)


def test_section_0_a_supplied_key_and_the_recovered_password(document: Document):
    document.run("0b-start")
    document.blanks |= {"<NAME>": "laptop", "'<SECRET>'": "'a secret of my own'"}
    document.succeed(keys(document)[1])
    assert opens(document, "a secret of my own")
    out = document.succeed(document.lines("0c-key").splitlines()[-1])
    password = re.search(r"New initial password:\n    (\S+)\n", out)
    assert password is not None
    answer = httpx.post(f"{document.url}/api/auth/login", json={"password": password[1]}, timeout=30)
    assert (answer.status_code, answer.json()) == (200, {"success": True, "mustChangePassword": True})


def accounts(document: Document) -> list[dict[str, Any]]:
    """Of the server, as the robot's list shows them."""
    return json.loads(document.run("1c-list").splitlines()[-1])["data"]["providers"]


def check_section_1(document: Document) -> None:
    first = json.loads(document.run("1a-register-over-http"))
    assert first == {"success": True, "id": first["id"], "message": "Media provider added successfully"}
    added = document.run("1b-register-with-the-command")
    second = re.fullmatch(r"Added media provider id=(mp-\S+)\n", added)
    assert second is not None
    # the same provider and name: replaced
    shown = {"id": second[1], "name": "openai-stt", "description": None, "provider": "openai"}
    listed = {"kind": "stt", "providers": [shown | {"type": "stt", "active": True}]}
    human, _, robot = document.run("1c-list").rstrip("\n").rpartition("\n")
    assert json.loads(human) == listed
    assert json.loads(robot) == success("media.providers.list", listed)
    models = json.loads(document.run("1d-models"))["data"]
    assert {"openai/whisper-1", "groq/whisper-large-v3", "deepgram/nova-3"} <= {model["id"] for model in models}


def test_sections_1_to_9_with_every_vendor_there(started: Document, vendor):
    check_section_1(started)
    secrets = {"openai": "sk-primary-0123456789", "groq": "gsk_0123456789abcdef", "deepgram": "dg-0123456789abcdef"}
    secrets |= {"gemini": "gm-0123456789abcdef", "assemblyai": "aai-0123456789abcdef", "huggingface": "hf_0123456789ab"}
    fakes = {}
    for provider, key in secrets.items():
        fakes[provider], document = vendor(provider, key)
        if provider != "openai":
            started.home.data(
                *(
                    "media",
                    "providers",
                    "add",
                    "--provider",
                    provider,
                    "--kind",
                    "stt",
                    "--name",
                    "main",
                    "--from-file",
                ),
                json.dumps(document),
            )
        else:
            openai = document
    local, document = vendor("selfhosted-stt", "local")
    base = openai["baseUrl"]
    started.blanks |= {
        '"sk-..."': f'"{secrets["openai"]}", "baseUrl": "{base}"',
        "http://127.0.0.1:8080/v1/audio/transcriptions": document["baseUrl"] + "/audio/transcriptions",
    }
    started.run("1b-register-with-the-command")

    # 2: a server of one's own
    assert json.loads(started.run("2-selfhosted"))["success"] is True
    ask = started.lines("3a-openai")
    own = json.loads(started.succeed(ask.replace("openai/whisper-1", "selfhosted-stt/whisper-1")))
    assert own == BODY
    assert (len(local.heard), fakes["openai"].heard) == (1, [])

    # 3: multipart
    assert json.loads(started.succeed(ask)) == BODY
    assert fakes["openai"].heard == [("speech.mp3", "audio/mpeg", heard("B19_cat.mp3"))]
    assert fakes["openai"].forms == [[("model", "whisper-1"), ("language", "en"), ("response_format", "json")]]
    assert started.run("3b-gemini") == f'{{"text":"{speech.TEXT}"}}'
    assert fakes["gemini"].heard == [("audio/wav", heard("B12_word_times.wav"))]
    assert started.run("3c-deepgram") == f'{{"text":"{speech.TEXT}"}}'
    assert fakes["deepgram"].heard == [("audio/wav", heard("B07_half_second_word.wav"))]
    sent = dict(fakes["deepgram"].queries[0])
    asked = {"model": "nova-3", "smart_format": "true", "punctuate": "true", "language": "en"}
    assert {name: sent[name] for name in asked} == asked

    # 4: base64, which Linux's program breaks into lines
    assert json.loads(started.run("4-json")) == BODY
    assert fakes["openai"].heard[-1] == ("speech.mp3", "audio/mpeg", heard("B19_cat.mp3"))
    assert fakes["openai"].forms[-1] == [("model", "whisper-1"), ("language", "en")]

    # 5: qualified and bare
    right, wrong = re.findall(r'-F model="\S+"', started.lines("5-bare-names"))
    fields = '-F model="openai/whisper-1"'
    assert json.loads(started.succeed(ask.replace(fields, right)))["x_groq"] == {"id": "req_1"}
    # which is not what was meant, and OpenAI has no such model
    assert json.loads(started.succeed(ask.replace(fields, wrong)))["error"]["message"] == (
        "The model `whisper-large-v3` does not exist"
    )
    bare = started.succeed(ask.replace(fields, '-F model="gemini-2.5-flash"').replace("speech.mp3", "speech.wav"))
    assert bare == f'{{"text":"{speech.TEXT}"}}'
    for model, space in (("aai/universal-2", ""), ("hf/openai/whisper-small", " "), ("dg/nova-2", "")):
        assert started.succeed(ask.replace("openai/whisper-1", model)) == f'{{"text":"{space}{speech.TEXT}"}}'

    # 6: the command
    key, started.key = started.key, None
    started.blanks["OPENPROXY_API_KEY=..."] = f"OPENPROXY_API_KEY={key}"
    assert started.run("6a-command") == speech.TEXT + "\n"
    started.key = key
    assert started.run("6b-robot") == f" {speech.TEXT}\n"
    assert fakes["groq"].heard[-1] == ("speech.mp3", "audio/mpeg", heard("B19_cat.mp3"))

    # 8: two accounts, the first of which is refused
    assert accounts(started)[-1]["name"] != "openai-backup"
    started.succeed("openproxy provider delete openai-stt")
    fakes["openai"].key = "sk-backup-0123456789"
    started.blanks |= {
        f'"sk-{name}..."': f'"sk-{name}-0123456789", "baseUrl": "{base}"' for name in ("primary", "backup")
    }
    assert len(re.findall("Added media provider id=mp-", started.run("8-two-keys"))) == 2
    again = started.shell(ask.replace("-sS", "-sS -D headers"))
    assert json.loads(again.stdout) == BODY
    assert "x-openproxy-attempts: 2" in (started.home.root / "headers").read_text()
    rows = [row for row in started.home.data("provider", "list")["providers"] if row["provider"] == "openai"]
    assert [row["providerSpecificData"]["note"] for row in rows] == ["primary key", "backup key"]

    # 9: everything again
    health, out = started.run("9-verifications").split("\n", 1)
    assert health == '{"status":"ok","component":"api"}' + ENDPOINT
    listed, _, rest = out.partition("\n}\n")
    names = [one["name"] for one in json.loads(listed + "\n}")["providers"]]
    assert {"openai-primary", "openai-backup", "local-whisper"} <= set(names)
    assert rest.splitlines() == [rest.splitlines()[0], speech.TEXT, speech.TEXT]
    assert int(rest.splitlines()[0]) >= 18
