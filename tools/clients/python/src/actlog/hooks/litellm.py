"""The hook for LiteLLM 1: a callback for its proxy, and wrappers for ``completion`` and ``acompletion``, because the
library itself only logs what a callback raises. tools/AGENTS.md, LiteLLM.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

from litellm.integrations.custom_logger import CustomLogger

from .recorder import Recorder, Refused, digest_of

T = TypeVar("T")

#: Calls of the proxy whose end LiteLLM has not told; of more, the response is not recorded.
MAX_OPEN = 10_000


class ActlogLogger(CustomLogger):
    """Anchors what goes to a model, before it goes, and what comes back. The arguments are those of ``Recorder``.

    In the proxy, list it under ``litellm_settings.callbacks``. In a program, call what ``wrap`` and ``awrap`` return,
    and do not list it in ``litellm.callbacks`` as well.
    """

    def __init__(self, url: str | None = None, key: str | None = None, **options: Any) -> None:
        super().__init__()
        self.recorder = Recorder(url, key, **options)
        self._open: OrderedDict[str, tuple[str, str]] = OrderedDict()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> Any:
        """Of the proxy. What it returns as text is the refusal that the proxy answers with."""
        model = str(data.get("model"))
        try:
            call_id = await asyncio.to_thread(self.recorder.request, model, _content(data))
        except Refused as refused:
            return str(refused)
        if (litellm_call_id := data.get("litellm_call_id")) is not None:
            self._open[str(litellm_call_id)] = (model, call_id)
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
        return data

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        await self._ended(kwargs, "completed", response_obj)

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        await self._ended(kwargs, "failed", str(kwargs.get("exception")))

    async def _ended(self, kwargs: dict[str, Any], status: str, content: object) -> None:
        # LiteLLM may tell of one end twice, and of calls that did not pass the proxy's hook.
        call = self._open.pop(str(kwargs.get("litellm_call_id")), None)
        if call is not None:
            await asyncio.to_thread(self.recorder.response, *call, status, content)

    def wrap(self, completion: Callable[..., T]) -> Callable[..., T]:
        """``litellm.completion``, recorded: raises ``Refused`` before it, anchors a stream at its end or abort."""

        def recorded(*args: Any, **kwargs: Any) -> T:
            model = _model(args, kwargs)
            call_id = self.recorder.request(model, _content({"args": args, **kwargs}))
            try:
                response = completion(*args, **kwargs)
            except Exception as error:
                self.recorder.response(model, call_id, "failed", str(error))
                raise
            if kwargs.get("stream"):
                return cast("T", self._streamed(model, call_id, cast("Iterable[Any]", response)))
            self.recorder.response(model, call_id, "completed", response)
            return response

        return recorded

    def awrap(self, acompletion: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        """``litellm.acompletion``, recorded."""

        async def recorded(*args: Any, **kwargs: Any) -> T:
            model = _model(args, kwargs)
            call_id = await asyncio.to_thread(self.recorder.request, model, _content({"args": args, **kwargs}))
            try:
                response = await acompletion(*args, **kwargs)
            except Exception as error:
                await asyncio.to_thread(self.recorder.response, model, call_id, "failed", str(error))
                raise
            if kwargs.get("stream"):
                return cast("T", self._astreamed(model, call_id, cast("AsyncIterable[Any]", response)))
            await asyncio.to_thread(self.recorder.response, model, call_id, "completed", response)
            return response

        return recorded

    def _streamed(self, model: str, call_id: str, chunks: Iterable[Any]) -> Iterator[Any]:
        digests: list[str | None] = []
        status = "aborted"
        try:
            for chunk in chunks:
                digests.append(digest_of(chunk))
                yield chunk
            status = "completed"
        except Exception:
            status = "failed"
            raise
        finally:
            self.recorder.response(model, call_id, status, digests)

    async def _astreamed(self, model: str, call_id: str, chunks: AsyncIterable[Any]) -> AsyncIterator[Any]:
        digests: list[str | None] = []
        status = "aborted"
        try:
            async for chunk in chunks:
                digests.append(digest_of(chunk))
                yield chunk
            status = "completed"
        except Exception:
            status = "failed"
            raise
        finally:
            await asyncio.to_thread(self.recorder.response, model, call_id, status, digests)


#: What of a request is the model's input. Keys, clients and metadata are not.
_INPUTS = (
    "args",
    "model",
    "messages",
    "prompt",
    "input",
    "tools",
    "tool_choice",
    "temperature",
    "max_tokens",
    "stream",
)


def _content(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in _INPUTS if name in data}


def _model(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return str(kwargs.get("model") or (args[0] if args else "unnamed"))
