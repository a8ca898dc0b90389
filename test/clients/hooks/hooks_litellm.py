"""The LiteLLM hook, with the real library and the model of the test (OPENAI_BASE_URL): the program of python.test.ts.
The first argument is the file of the guide's example for programs, the second of that for the proxy.
"""

import asyncio
import hashlib
import json
import sys
from pathlib import Path

import litellm
from actlog.client import Client
from actlog.hooks import Refused
from actlog.hooks.litellm import ActlogLogger

ASK = {"model": "openai/zebra-5", "messages": [{"role": "user", "content": "quagga?"}]}


def done(name: str) -> None:
    print(json.dumps({"case": name}), flush=True)


shared = dict(ASK)
exec(Path(sys.argv[1]).read_text(), shared)
assert shared["answer"].choices[0].message.content == "zebra"
done("example")

told = []
log = ActlogLogger(on_receipt=told.append)
completion, acompletion = log.wrap(litellm.completion), log.awrap(litellm.acompletion)
assert len(list(completion(**ASK, stream=True))) >= 2
stream = completion(**ASK, stream=True)
next(stream)
stream.close()
done("streams")


async def main() -> None:
    answer = await acompletion(**ASK)
    assert answer.choices[0].message.content == "zebra"
    assert len([chunk async for chunk in await acompletion(**ASK, stream=True)]) >= 2


asyncio.run(main())
done("async")

try:
    completion(model="openai/failing", messages=ASK["messages"], num_retries=0, max_retries=0)
except litellm.exceptions.BadRequestError:
    done("failed")
documents = [json.loads(one.document) for one in told]
statuses = [document["status"] for document in documents if document["part"] == "response"]
assert statuses == ["completed", "aborted", "completed", "completed", "failed"], statuses
for one in told:
    assert one.receipt["digest"] == hashlib.sha256(one.document.encode()).hexdigest()
assert all("content_sha256" in document for document in documents)

exec(Path(sys.argv[2]).read_text(), shared)
handler = shared["handler"]


async def proxied() -> None:
    """What the proxy does with a request: its hook before the call, and the events of the library after it."""
    litellm.callbacks = [handler]
    data = {**ASK, "litellm_call_id": "call-1"}
    assert await handler.async_pre_call_hook(None, None, data, "completion") == data
    await litellm.acompletion(**data)
    for _ in range(500):
        if not handler._open:
            break
        await asyncio.sleep(0.01)
    assert not handler._open, "LiteLLM did not tell of the end"
    # Of a call that did not pass the hook, as of the health checks of the proxy, nothing is logged.
    await litellm.acompletion(**ASK)


asyncio.run(proxied())
done("proxy")

away = ActlogLogger(client=Client("http://127.0.0.1:1", api_key="k", retries=0))
try:
    away.wrap(litellm.completion)(**ASK)
    raise AssertionError("the model was called")
except Refused:
    pass
rejected = asyncio.run(away.async_pre_call_hook(None, None, dict(ASK), "completion"))
assert isinstance(rejected, str) and "did not answer" in rejected
done("unreachable")
