"""The clients against a real service process, and what they do when an answer is late, lost or false."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import subprocess
import time
from datetime import datetime, timezone

import httpx
import pytest
from standardwebhooks import Webhook

from actlog import Refused, canonical, trust_from_kit, verify_receipt
from actlog.client import ApiError, AsyncClient, Client, ConnectionFailed, Unverified
from actlog.webhooks import open_webhook, webhook_keys
from conftest import REPOSITORY, Signer


class Service:
    """A server process on a folder of its own."""

    def __init__(self, folder) -> None:
        settings = {
            "PORT": "0",
            "LOG_LEVEL": "silent",
            "RATE_LIMITS": "off",
            "CHECKPOINT_INTERVAL_MS": "100",
            "LOG_ORIGIN": "log.example",
            "XDG_STATE_HOME": str(folder / "state"),
        }
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        command = ["node", "--import", "tsx", "tools/actlog.ts", "serve", "--data", str(folder / "data")]
        self.process = subprocess.Popen(
            command, cwd=REPOSITORY, env={**environment, **settings}, stdout=subprocess.PIPE, text=True
        )
        self.key = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.key = (re.match(r"live key: (\S+)", line) or [None, self.key])[1]
            port = re.match(r"actlog serves .* port (\d+)|actlog serves \S+:(\d+)", line)
            if port:
                self.url = f"http://127.0.0.1:{port[1] or port[2]}"
                return
        raise AssertionError("the server ended before it listened")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    if shutil.which("node") is None or not (REPOSITORY / "node_modules/tsx").exists():
        pytest.skip("node or the packages of the repository are missing")
    running = Service(tmp_path_factory.mktemp("service"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def kit(service):
    return httpx.get(f"{service.url}/export/offline-verify-kit.json").json()


@pytest.fixture
def client(service, kit):
    with Client(service.url, api_key=service.key, kit=kit, verify="always") as made:
        yield made


GATE = {"action_type": "payment.release", "agent_id": "agent:treasury"}


class TestOperations:
    def test_classify_and_wait_for_its_proof(self, client, kit):
        receipt = client.classify(message="How do I reset my password?", domain="general")
        assert receipt["classification"] == "SAFE"
        proven = client.wait_for_proof(receipt)
        assert proven["entry_hash"] == receipt["entry_hash"]
        assert verify_receipt(proven, trust_from_kit(kit, proven["origin"])).size > proven["index"]
        assert client.lookup(receipt["entry_id"])["found"] is True
        assert client.lookup("01a0c451-3ef0-7000-8000-000000000006") is None

    def test_gate_bind_and_restraint(self, client):
        asked = client.gate(**GATE)
        assert asked["outcome"] == "SILENCE"
        assert client.bind(payment_hash="0x" + "ab" * 32)["settlement"]["settlement_status"] == "claimed"
        left = client.restraint(action_not_taken="export the data", decision_reason="no consent")
        assert left["restraint"]["verdict"] == "denied"

    def test_many_requests_share_batches(self, service, kit):
        sent = []

        def cut_off(request):
            response = httpx.HTTPTransport().handle_request(request)
            sent.append(request.url.path)
            content = response.read()
            if len(sent) == 1:
                content = content[: content.index(b"\n", len(content) // 2) + 20]
            return httpx.Response(response.status_code, content=content)

        messages = [f"How do I reset password {number}?" for number in range(6)]
        bodies = [*({"message": message} for message in messages), {}]
        transport = httpx.MockTransport(cut_off)
        with Client(service.url, api_key=service.key, kit=kit, verify="always", transport=transport) as made:
            answers = made.many("/api/v1/classify", bodies)
        assert sent[0] == "/api/v1/classify/batch"
        assert set(sent[1:]) == {"/api/v1/classify"} and 0 < len(sent[1:]) < len(bodies)
        refused = answers.pop()
        assert isinstance(refused, ApiError) and refused.code == "message_required"
        assert [answer["disclosures"]["message"]["value"] for answer in answers] == messages
        assert len({answer["entry_id"] for answer in answers}) == len(messages)

    def test_many_requests_keep_their_keys_and_their_errors(self, service, client):
        bodies = [{"message": "one", "idempotency_key": f"many-{number}-00"} for number in range(2)]
        answers = client.many("/api/v1/classify", bodies)
        again = client.many("/api/v1/classify", bodies)
        assert [one["entry_id"] for one in again] == [one["entry_id"] for one in answers]

        def unreachable(request):
            raise httpx.ConnectError("refused", request=request)

        with Client(service.url, api_key=service.key, retries=0, transport=httpx.MockTransport(unreachable)) as lost:
            results = lost.many("/api/v1/classify", bodies)
        assert [type(result) for result in results] == [ConnectionFailed, ConnectionFailed]

    def test_witness_and_its_rows(self, client):
        published = client.request("POST", "/api/v1/astl/publish", body={"entity": "acme", "surfaces": ["policy_bind"]})
        client.wait_for_proof(published["receipt"])
        now = int(time.time() * 1000)
        answer = client.witness(entity="acme", surface="policy_bind", from_ms=now - 60_000, to_ms=now - 30_000)
        assert answer["witness"]["verdict"] == "UNDECLARED"
        client.request("POST", "/api/v1/astl/publish", body={"entity": "acme", "surfaces": ["offer_extend"]})
        path = "/api/v1/astl/log.json"
        assert [len(page["data"]) for page in client.pages(path, {"limit": 1})] == [1, 1]
        assert [row["surfaces"] for row in client.rows(path, {"limit": 1})] == [
            ["policy_bind"],
            ["offer_extend"],
        ]

    def test_reads_of_the_log(self, client):
        receipt = client.classify(message="hello", session_id="read-1")
        index = client.wait_for_proof(receipt)["log"]["index"]
        assert json.loads(client.inclusion(index)["entry"])["entry_id"] == receipt["entry_id"]
        assert client.checkpoint().startswith("log.example/log/live/1\n")
        key = ["session", receipt["session_ref"]]
        at = receipt["issued_at_ms"]
        (page,) = client.chain(key, at - 1000, at)
        assert page["verdict"] == "PRESENT" and len(page["entries"]) == 1
        (before,) = client.chain(key, at - 2000, at - 1)
        assert before["verdict"] == "ABSENT"

    def test_a_generic_answer_needs_something_to_verify(self, client, service):
        with pytest.raises(Unverified):
            client.request("GET", "/api/v1/me")
        assert client.request("GET", "/api/v1/me", verify=False)["ok"] is True

    def test_errors_have_their_code(self, client):
        with pytest.raises(ApiError) as caught:
            client.request("POST", "/api/v1/classify", body={})
        assert (caught.value.status, caught.value.code) == (400, "message_required")
        assert caught.value.request_id.startswith("req_")

    def test_a_key_given_twice_is_one_entry(self, service):
        with Client(service.url, api_key=service.key) as plain:
            body = {"message": "once"}
            first = plain.request("POST", "/api/v1/classify", body=body, idempotency_key="python-once")
            assert plain.request("POST", "/api/v1/classify", body=body, idempotency_key="python-once") == first

    def test_the_asynchronous_client_does_the_same(self, service, kit):
        async def run():
            async with AsyncClient(service.url, api_key=service.key, kit=kit, verify="always") as client:
                receipts = await asyncio.gather(*(client.classify(message=f"number {i}") for i in range(3)))
                proven = await client.wait_for_proof(receipts[0])
                key, at = ["trigger", "01a0c451-3ef0-7000-8000-000000000006"], proven["issued_at_ms"]
                pages = [page async for page in client.chain(key, at - 1, at)]
                rows = [row async for row in client.rows("/api/v1/astl/log.json")]
                return {receipt["entry_id"] for receipt in receipts}, pages[0]["verdict"], rows

        ids, verdict, rows = asyncio.run(run())
        assert len(ids) == 3 and verdict == "ABSENT" and isinstance(rows, list)


class Between(httpx.BaseTransport):
    """Passes requests on to the service, and lets a test change or lose what comes back."""

    def __init__(self, change) -> None:
        self.http = httpx.HTTPTransport()
        self.change = change
        self.sent: list[httpx.Request] = []

    def handle_request(self, request):
        self.sent.append(request)
        response = self.http.handle_request(request)
        response.read()
        return self.change(len(self.sent), response)


def between(service, kit, change, **settings):
    transport = Between(change)
    made = Client(service.url, api_key=service.key, kit=kit, verify="always", transport=transport, **settings)
    return made, transport


class TestFalseAnswers:
    @pytest.mark.parametrize(
        ("call", "change"),
        [
            (lambda c: c.classify(message="a"), lambda a: {**a, "classification": "CRISIS"}),
            (lambda c: c.classify(message="a"), lambda a: {name: a[name] for name in a if name != "disclosures"}),
            (lambda c: c.classify(message="a"), lambda a: {name: a[name] for name in a if name != "signature"}),
            (lambda c: c.gate(**GATE), lambda a: {**a, "outcome": "PERMIT"}),
            (lambda c: c.gate(**GATE), lambda a: {name: a[name] for name in a if name != "receipt"}),
            (lambda c: c.restraint(action_not_taken="a", decision_reason="b"), lambda a: {**a, "receipt": None}),
            (lambda c: c.inclusion(1), lambda a: {**a, "index": 0}),
            (lambda c: c.inclusion(1), lambda a: {**a, "path": a["path"][1:]}),
            (lambda c: list(c.chain(["entity", "acme"], 0, 1)), lambda a: {**a, "verdict": "PRESENT"}),
        ],
    )
    def test_are_not_used(self, service, kit, call, change):
        def changed(_, response):
            return httpx.Response(response.status_code, json=change(response.json()))

        client, _ = between(service, kit, changed)
        with pytest.raises(Unverified):
            call(client)

    def test_a_proof_that_does_not_hold_is_not_waited_for(self, service, kit, client):
        receipt = client.wait_for_proof(client.classify(message="proven"))
        answer = client.lookup(receipt["entry_id"])
        shorter = {**receipt["log"], "inclusion_proof": receipt["log"]["inclusion_proof"][1:]}
        for changed in (
            {**answer, "receipt": {**answer["receipt"], "log": shorter}},
            {**answer, "proof": {"tlog_proof": "none"}},
        ):
            false, _ = between(service, kit, lambda _, r, changed=changed: httpx.Response(200, json=changed))
            with pytest.raises(Unverified):
                false.wait_for_proof(receipt)
        bare = {name: value for name, value in answer["receipt"].items() if name != "log"}
        silent = {"found": True, "receipt": bare, "proof": {"tlog_proof": 1}}
        late, _ = between(service, kit, lambda _, r: httpx.Response(200, json=silent))
        with pytest.raises(TimeoutError):
            late.wait_for_proof(receipt, timeout_s=0)

    def test_an_answer_to_another_question_is_not_used(self, service, kit, client):
        other = client.classify(message="another message")
        replayed, _ = between(service, kit, lambda _, response: httpx.Response(200, json=other))
        with pytest.raises(Unverified, match="of this message"):
            replayed.classify(message="a message")
        with pytest.raises(Unverified, match="no receipt of gate"):
            between(service, kit, lambda _, r: httpx.Response(200, json={"receipt": other}))[0].gate(**GATE)
        with pytest.raises(Unverified, match="another entry"):
            found = client.lookup(other["entry_id"])
            between(service, kit, lambda _, r: httpx.Response(200, json=found))[0].lookup("x")

    def test_a_log_that_is_not_pinned_is_not_used(self, service, kit):
        others = {**kit, "logs": [log for log in kit["logs"] if "sandbox" in log["origin"]]}
        with Client(service.url, api_key=service.key, kit=others, verify="always") as client, pytest.raises(Unverified):
            client.classify(message="a")

    def test_always_needs_a_kit(self, service):
        with pytest.raises(ValueError):
            Client(service.url, verify="always")


class TestRetries:
    def test_a_lost_answer_is_asked_for_again_under_one_key(self, service, kit):
        def lose_the_first(n, response):
            if n == 1:
                raise httpx.ReadError("the connection broke")
            return httpx.Response(response.status_code, headers=response.headers, content=response.content)

        client, transport = between(service, kit, lose_the_first)
        receipt = client.classify(message="asked twice, logged once")
        keys = {request.headers["idempotency-key"] for request in transport.sent}
        assert len(transport.sent) == 2 and len(keys) == 1
        assert client.lookup(receipt["entry_id"])["found"] is True

    @pytest.mark.parametrize("after", ["0", "Thu, 01 Jan 2015 00:00:00 GMT"])
    def test_retry_after_is_respected(self, service, kit, after):
        def busy(n, response):
            if n < 3:
                headers = {"Retry-After": after}
                return httpx.Response(503, headers=headers, json={"error": {"code": "log_busy", "message": "busy"}})
            return httpx.Response(response.status_code, content=response.content)

        client, transport = between(service, kit, busy)
        client.checkpoint()
        assert len(transport.sent) == 3

    def test_a_longer_wait_than_allowed_is_an_error(self, service, kit):
        def busy(n, response):
            return httpx.Response(429, headers={"Retry-After": "600"}, json={"error": {"code": "rate_limited"}})

        client, transport = between(service, kit, busy)
        with pytest.raises(ApiError) as caught:
            client.checkpoint()
        assert caught.value.retry_after_s == 600 and len(transport.sent) == 1

    def test_a_post_without_a_key_is_not_repeated(self, service, kit):
        def lose(n, response):
            raise httpx.ReadError("the connection broke")

        client, transport = between(service, kit, lose)
        with pytest.raises(ConnectionFailed):
            client.request("POST", "/signal/trigger/subscriptions", body={}, verify=False)
        assert len(transport.sent) == 1


class TestWebhooks:
    body = canonical({"type": "checkpoint.published", "data": {"n": 1}})
    now = 1_790_000_000

    def headers(self, signature: str) -> dict[str, str]:
        return {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(self.now), "Webhook-Signature": signature}

    def signed(self) -> bytes:
        return b"msg_1.%d." % self.now + self.body

    def test_opens_what_the_key_of_the_service_signed(self):
        signer = Signer(0x61)
        signature = "v1a," + base64.b64encode(signer.key.sign(self.signed())).decode()
        x = base64.urlsafe_b64encode(signer.public).decode().rstrip("=")
        jwk = {"kty": "OKP", "crv": "Ed25519", "x": x}
        keys = webhook_keys({"keys": [{**jwk, "purpose": "webhook"}]})
        several = self.headers(f"v1,AAAA v1a,!! {signature}")
        assert open_webhook(several, self.body, keys=keys, now_s=self.now)["data"] == {"n": 1}
        assert webhook_keys({"keys": [jwk]}) == []
        for wrong in (
            {"keys": keys, "now_s": self.now + 301},
            {"keys": keys, "now_s": self.now - 301},
            {"keys": [], "now_s": self.now},
            {"secret": "whsec_QUJD", "now_s": self.now},
        ):
            with pytest.raises(Refused):
                open_webhook(several, self.body, **wrong)
        with pytest.raises(Refused):
            open_webhook(several, self.body + b" ", keys=keys, now_s=self.now)

    def test_agrees_with_standardwebhooks_about_secrets(self):
        secret = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
        at = datetime.now(timezone.utc)
        signature = Webhook(secret).sign("msg_1", at, self.body.decode())
        headers = {
            "webhook-id": "msg_1",
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }
        assert Webhook(secret).verify(self.body, headers) == open_webhook(headers, self.body, secret=secret)
        other = hmac.new(b"x", self.signed(), hashlib.sha256).digest()
        with pytest.raises(Refused):
            open_webhook(
                {**headers, "webhook-signature": "v1," + base64.b64encode(other).decode()}, self.body, secret=secret
            )

    def test_the_client_takes_the_keys_of_the_pinned_kit(self, client, kit):
        assert len(webhook_keys(kit)) == 2
        with pytest.raises(Refused, match="no signature"):
            headers = self.headers("v1a," + base64.b64encode(bytes(64)).decode())
            client.open_webhook({**headers, "webhook-timestamp": str(int(time.time()))}, self.body)
