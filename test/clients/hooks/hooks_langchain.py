"""The LangChain hook for Python, with the real framework: the program of python.test.ts, which compares the log with what
this program says that it did. The first argument is the file of the guide's example.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx
from actlog.client import Client
from actlog.hooks import Refused
from actlog.hooks.langchain import ActlogHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.tools import tool


class Switch(httpx.HTTPTransport):
    """A transport that can be as if the service were gone, or as if its answer to the use of a permit were lost."""

    down = False
    loses = "nothing"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("down")
        response = super().handle_request(request)
        if request.url.path.endswith(self.loses):
            raise httpx.ReadError("lost")
        return response


@tool
def search(q: str) -> str:
    """Searches."""
    if q == "fail":
        raise ValueError("zebra")
    return f"found {q}"


@tool
def erase(q: str) -> str:
    """Erases."""
    raise AssertionError("the tool ran")


@tool
def wire(q: str) -> str:
    """Pays."""
    return f"sent {q}"


def refusal_of(act) -> Refused:
    try:
        act()
    except Refused as refused:
        return refused
    raise AssertionError("it was not refused")


def done(name: str) -> None:
    print(json.dumps({"case": name}), flush=True)


shared = {"chat": FakeListChatModel(responses=["zebra"]), "messages": [("human", "quagga?")], "search": search}
exec(Path(sys.argv[1]).read_text(), shared)
assert shared["answer"].content == "zebra"
assert shared["found"] == "found quagga"
done("example")

switch = Switch()
url, key = os.environ["ACTLOG_URL"], os.environ["ACTLOG_KEY"]
client = Client(url, api_key=key, transport=switch, retries=0)
told = []
handler = ActlogHandler(client=client, on_receipt=told.append)
config = {"callbacks": [handler]}
refused = refusal_of(lambda: erase.invoke({"q": "x"}, config))
assert refused.outcome == "DENY" and refused.permalink is not None
done("denied")

assert asyncio.run(search.ainvoke({"q": "quagga"}, config)) == "found quagga"
assert refusal_of(lambda: asyncio.run(erase.ainvoke({"q": "x"}, config))).outcome == "DENY"
done("async")

try:
    search.invoke({"q": "fail"}, config)
except ValueError:
    done("failed")

refused = refusal_of(lambda: wire.invoke({"q": "quagga"}, config))
assert refused.outcome == "HOLD" and refused.hold_id is not None
switch.down = True
assert "did not answer" in str(refusal_of(lambda: wire.invoke({"q": "quagga"}, config)))
switch.down = False
client.request(
    "POST", f"/api/v1/execute-gate/holds/{refused.hold_id}", body={"action": "release", "reason": "checked"}
)
assert wire.invoke({"q": "quagga"}, config) == "sent quagga"
done("held")

going = ActlogHandler(client=client, unreachable="continue")
switch.down = True
assert "did not answer" in str(refusal_of(lambda: search.invoke({"q": "x"}, config)))
assert search.invoke({"q": "x"}, {"callbacks": [going]}) == "found x"
assert going.recorder.waiting == 1
switch.down = False
going.recorder.flush()
assert going.recorder.waiting == 0
done("unreachable")

switch.loses = "/permits/use"
assert "did not answer" in str(refusal_of(lambda: search.invoke({"q": "x"}, config)))
switch.loses = "nothing"
handler.recorder.flush()
done("lost answer")

assert {one.about for one in told} == {"decision", "use", "result"}
assert '"use_secret": {' not in json.dumps([dict(one.receipt) for one in told])
