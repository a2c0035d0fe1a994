"""Language models: a file is opened, compiled where that has not been done, and answers.

    with hone.LanguageModel("model.gguf") as m:
        for piece in m.generate("Once upon a time", stream=True):
            print(piece, end="", flush=True)
"""
from __future__ import annotations

import json
import math
import os
import queue
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _hone
from ._options import documented, plain

Messages = Sequence[Mapping[str, Any]]
Tokens = Sequence[int]


class Answer(NamedTuple):
    """What a language model generated; `str` of it is the text."""

    text: str
    tokens: List[int]
    logprobs: List[float]  #: of each token, by the model's logits before any filter; natural logarithms
    end: str  #: "length", "eos", "stop", "grammar" or "stopped"
    prompt_tokens: int
    prompt_s: float  #: until the logits behind the prompt
    first_token_s: float
    generate_s: float  #: all further tokens

    @property
    def tokens_per_s(self) -> float:
        """Tokens per second behind the first; NaN where there was one."""
        return (len(self.tokens) - 1) / self.generate_s if len(self.tokens) > 1 and self.generate_s else math.nan

    def __str__(self) -> str:
        return self.text


class Stream:
    """Pieces of an answer as they come: an iterator of texts, each of whole characters. `answer` is the whole of it at the end. An
    iteration that is left early (break, an exception, close) stops the model."""

    def __init__(self, model: _hone.Text, request: Callable[[Callable[[str], None]], Answer]):
        self._model = model
        self._pieces: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._answer: Optional[Answer] = None
        self._left = False
        self._over = False
        self._thread = threading.Thread(target=self._run, args=(request,), name="hone-stream", daemon=True)
        self._thread.start()

    def _take(self, piece: str) -> None:
        if self._left:
            raise _Left
        self._pieces.put(piece)

    def _run(self, request: Callable[[Callable[[str], None]], Answer]) -> None:
        try:
            self._pieces.put(request(self._take))
        except BaseException as error:  # it is raised where the pieces are taken
            self._pieces.put(error)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._over:
            raise StopIteration
        try:
            item = self._pieces.get()
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if isinstance(item, str):
            return item
        self._over = True
        self._thread.join()
        if isinstance(item, BaseException):
            raise item
        self._answer = item
        raise StopIteration

    @property
    def answer(self) -> Answer:
        """The whole answer, when the iteration has ended."""
        if self._answer is None:
            raise _hone.UsageError("the answer is not there before its last piece; iterate to the end")
        return self._answer

    def close(self) -> None:
        """Stops the model, and waits until it has stopped."""
        if self._over:
            return
        self._left = self._over = True
        while self._thread.is_alive():  # it may be about to begin, which stop() would miss
            self._model.stop()
            self._thread.join(0.01)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_over", True):
            self._left = True
            self._model.stop()


class _Left(Exception):
    """Nobody wants the rest of a stream."""


class LanguageModel:
    """A language model: a GGUF file, or a folder in Hugging Face's layout. It is compiled for this machine when it is used first, and
    kept in the cache.

    Args:
      path: the file (the first, of several parts) or folder.
      progress: is called with (stage, text or None) while the model is compiled.
      tokenizer_only: for tokens alone: nothing is compiled.
      {options}

    Raises:
      {raises}

    One call at a time runs a model; calls from other threads wait for it. Ctrl-C ends a call. Use it in a `with` statement, or close it.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, tokenizer_only: bool = False,
                 progress: Optional[Callable[[str, Optional[str]], object]] = None, **options: Any):  # fmt: skip
        shown = (lambda e: progress(*e)) if progress else None
        self._text = _hone.Text(os.fspath(path), tokenizer_only, plain(options), shown)
        self.path = os.fspath(path)

    @property
    def vocabulary(self) -> int:
        """Tokens that there are."""
        return self._text.vocabulary

    @property
    def context(self) -> int:
        """Tokens at most, prompt and answer together."""
        return self._text.context

    @property
    def closed(self) -> bool:
        """Has `close` been called?"""
        return self._text.closed

    def close(self) -> None:
        """Stops what runs and frees the model. Closing it again does nothing."""
        self._text.close()

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<hone.LanguageModel {self.path!r}{', closed' if self.closed else ''}>"

    # --- text and tokens

    def tokenize(self, text: str, *, frame: bool = False, control: bool = False) -> List[int]:
        """Tokens of a text. frame: with the tokens that begin (and end) a text, where the model has them. control: names of control tokens
        ("<|im_start|>") stand for them."""
        return self._text.encode(text, frame, control)

    def detokenize(self, tokens: Tokens, *, control: bool = False) -> str:
        """Text of tokens; bytes that are no character become U+FFFD. control: control tokens show their names."""
        return self._text.decode(tokens, control)

    def prompt(self, messages: Messages, *, answer: bool = True) -> str:
        """A conversation, [{"role": "user", "content": "..."}], as a prompt by the model's own chat template. answer: it ends where the
        model's answer begins."""
        return self._text.prompt(json.dumps(list(messages)), answer)

    # --- answers

    def generate(self, prompt: Union[None, str, Sequence[str]] = None, *, messages: Optional[Sequence[Any]] = None,
                 tokens: Optional[Sequence[Any]] = None, stream: bool = False, stop: Union[str, Sequence[str]] = (),
                 **options: Any) -> Any:  # fmt: skip
        """An answer to a prompt, to the messages of a conversation or to tokens; a list of answers to a list of them.

        Args:
          prompt: text, in which names of control tokens stand for them; or a list of texts.
          messages: a conversation, [{"role": "user", "content": "..."}], or a list of conversations.
          tokens: as they are; or a list of lists.
          stream: give a `Stream`, an iterator of pieces of text, instead of an `Answer`. Not for lists.
          stop: a text, or several; the answer ends in front of any of these.
          {options}

        Returns:
          Answer, list of Answer, or Stream.

        Raises:
          {raises}
        """
        asked = _requests(prompt, messages, tokens)
        stops = (stop,) if isinstance(stop, str) else tuple(stop)
        if stream:
            if isinstance(asked, list):
                raise _hone.UsageError("a stream is of one prompt; leave stream out, or ask one by one")
            return Stream(self._text, lambda take: self._one(asked, stops, options, take))
        if isinstance(asked, list):
            return [self._one(one, stops, options) for one in asked]
        return self._one(asked, stops, options)

    def _one(self, asked: "_Request", stop: "tuple[str, ...]", options: Dict[str, Any],
             take: Optional[Callable[[str], None]] = None) -> Answer:  # fmt: skip
        prompt = asked.prompt if asked.messages is None else self.prompt(asked.messages)
        if isinstance(options.get("json_schema"), Mapping):
            options = {**options, "json_schema": json.dumps(options["json_schema"])}
        return Answer(**self._text.generate(prompt, asked.tokens, stop, options, take))

    # --- numbers

    def logits(self, tokens: Union[str, Tokens], *, last: bool = False) -> Any:
        """Logits behind each of the tokens (of a text: framed): float32 [tokens, vocabulary]. last: behind the last one alone,
        [vocabulary]."""
        import numpy as np

        found = np.asarray(self._text.logits(self._tokens(tokens), last))[:, : self.vocabulary]
        return found[0] if last and len(found) else found

    def score(self, tokens: Union[str, Tokens]) -> Any:
        """Log-probability of each token but the first behind those in front of it: float64 [tokens - 1]."""
        import numpy as np

        return np.asarray(self._text.score(self._tokens(tokens)))

    def perplexity(self, text: Union[str, Tokens], *, window: int = 0) -> float:
        """The exponential of the mean loss of a text's tokens, in windows one behind the other, each on its own. window: their length; 0:
        the context."""
        tokens, size = self._tokens(text), window or self.context
        if len(tokens) < 2:
            raise _hone.UsageError(f"perplexity of {len(tokens)} tokens: it takes two at least")
        parts = [tokens[at : at + size] for at in range(0, len(tokens), size)]
        losses = [-x for part in parts if len(part) > 1 for x in self.score(part)]
        return math.exp(math.fsum(losses) / len(losses))

    def _tokens(self, given: Union[str, Tokens]) -> List[int]:
        return self.tokenize(given, frame=True) if isinstance(given, str) else [int(x) for x in given]


class _Request(NamedTuple):
    prompt: Optional[str]
    messages: Optional[Messages]
    tokens: Optional[Tokens]


def _requests(prompt: Any, messages: Any, tokens: Any) -> Any:
    """A request, or a list of them."""
    if sum(x is not None for x in (prompt, messages, tokens)) != 1:
        raise _hone.UsageError("give a prompt, or messages=, or tokens=: one of them")
    if prompt is not None:
        return _Request(prompt, None, None) if isinstance(prompt, str) else [_Request(p, None, None) for p in prompt]
    if messages is not None:
        several = len(messages) > 0 and not isinstance(messages[0], Mapping)
        return [_Request(None, m, None) for m in messages] if several else _Request(None, messages, None)
    several = len(tokens) > 0 and not hasattr(tokens[0], "__index__")
    return [_Request(None, None, t) for t in tokens] if several else _Request(None, None, tokens)


documented(LanguageModel, _hone.text_options, raises="language_model")
documented(LanguageModel.generate, _hone.generate_options, raises="text_generate")
