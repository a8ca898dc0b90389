"""The hook for LangChain (``langchain-core`` 1): a callback handler. LangChain swallows the errors of handlers unless
``raise_error`` is set; here it is, so that a refusal stops the tool. tools/AGENTS.md, LangChain for Python.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from .recorder import Begun, Recorder


class ActlogHandler(BaseCallbackHandler):
    """Asks the gate before a tool runs, and anchors what goes to a model and what comes back.

    The arguments are those of ``Recorder``. In coroutines, LangChain runs this handler in a thread.
    """

    raise_error = True

    def __init__(self, url: str | None = None, key: str | None = None, **options: Any) -> None:
        self.recorder = Recorder(url, key, **options)
        self._tools: dict[UUID, Begun] = {}
        self._models: dict[UUID, tuple[str, str]] = {}

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Raises ``Refused`` if the tool must not run."""
        name = (serialized or {}).get("name") or kwargs.get("name") or "unnamed"
        inputs = kwargs.get("inputs")
        self._tools[run_id] = self.recorder.begin(name, input_str if inputs is None else inputs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if (begun := self._tools.pop(run_id, None)) is not None:
            self.recorder.end(begun, "completed", getattr(output, "content", output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if (begun := self._tools.pop(run_id, None)) is not None:
            self.recorder.end(begun, "failed", str(error))

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[Any]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        self._started(serialized, messages, run_id, kwargs)

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        self._started(serialized, prompts, run_id, kwargs)

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if (call := self._models.pop(run_id, None)) is not None:
            self.recorder.response(*call, "completed", response)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if (call := self._models.pop(run_id, None)) is not None:
            self.recorder.response(*call, "failed", str(error))

    def _started(self, serialized: dict[str, Any], content: object, run_id: UUID, kwargs: dict[str, Any]) -> None:
        name = (serialized or {}).get("name") or kwargs.get("name") or "unnamed"
        self._models[run_id] = (name, self.recorder.request(name, content))
