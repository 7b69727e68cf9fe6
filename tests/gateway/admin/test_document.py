"""The OpenAPI document, and schemathesis against a running gateway: what is promised is what is answered."""

from copy import deepcopy

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.checks import CHECKS

from openproxy.gateway.admin.mounting import Admin
from openproxy.store import Store
from openproxy.version import __version__
from support.gateway_server import BEARER, Gateway

QUICK = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
LONG = settings(QUICK, max_examples=50)


DOCUMENT = Admin(title="OpenProxy", version=__version__).openapi()
schema = schemathesis.openapi.from_dict(deepcopy(DOCUMENT))


def hold(case: schemathesis.Case, gateway: Gateway) -> None:
    """Send the case; every check of schemathesis must hold."""
    excluded = []
    path = case.operation.path
    if path.startswith("/api/auth"):
        gateway.run(lambda store: store.attempts.succeeded("127.0.0.1"))
    if path == "/api/combos" and case.method == "POST":
        gateway.run(without_combos)
    if path == "/api/settings" and case.method in ("PUT", "PATCH"):
        # a case may switch the login off, after which no key is asked for
        excluded = [CHECKS.get_one("ignored_auth")]
    try:
        case.call_and_validate(base_url=gateway.url, headers=BEARER, excluded_checks=excluded)
    finally:
        if excluded:
            gateway.settings(
                require_login=None, max_upload_bytes=None, upload_idle_seconds=None, usage_days=None, formats=None
            )


async def without_combos(store: Store) -> None:
    for combo in await store.combos.list():
        await store.combos.delete(combo.id)


@schema.parametrize()
@QUICK
def test_every_operation_keeps_its_promises(case: schemathesis.Case, gateway: Gateway) -> None:
    hold(case, gateway)


@pytest.mark.all
@schema.parametrize()
@LONG
def test_every_operation_keeps_its_promises_at_length(case: schemathesis.Case, gateway: Gateway) -> None:
    hold(case, gateway)


@pytest.mark.all
def test_sequences_of_operations_keep_their_promises(gateway: Gateway) -> None:
    """What one operation has made is shown, changed and removed by the next ones."""
    # the command line's token: no sequence can delete it
    token = {"x-9r-cli-token": gateway.cli_token}
    unordered = [CHECKS.get_one(name) for name in ("ignored_auth", "positive_data_acceptance")]

    class Sequences(schema.as_state_machine()):
        def setup(self) -> None:
            gateway.reset()
            gateway.run(lambda store: store.attempts.succeeded("127.0.0.1"))

        def get_call_kwargs(self, case: schemathesis.Case) -> dict[str, object]:
            return {"base_url": gateway.url, "headers": token}

        def validate_response(self, response, case, additional_checks=(), **more) -> None:
            case.validate_response(response, excluded_checks=unordered)

    run_state_machine_as_test(Sequences, settings=settings(QUICK, max_examples=60, stateful_step_count=12))


def test_the_document_is_served_to_anybody(anyone) -> None:
    response = anyone.get("/openapi.json")
    assert response.headers["content-type"] == "application/json"
    assert response.json() == DOCUMENT


def test_the_pages_that_load_scripts_from_elsewhere_are_not_there(anyone) -> None:
    for path in ("/docs", "/redoc", "/api/docs", "/api/redoc"):
        assert anyone.get(path).status_code == 404


def test_the_document_names_every_answer() -> None:
    operations = {(method, path): one for path, item in DOCUMENT["paths"].items() for method, one in item.items()}
    assert len(operations) == 40
    for (method, path), operation in operations.items():
        statuses = set(operation["responses"])
        assert "422" not in statuses
        assert statuses & {"200", "201"}
        assert "503" in statuses
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= statuses, (method, path)
        if "{" in path and (method, path) != ("put", "/api/models/alias/{alias}"):
            assert "404" in statuses, (method, path)
        for answer in operation["responses"].values():
            assert "$ref" in str(answer["content"]["application/json"]["schema"]), (method, path)
