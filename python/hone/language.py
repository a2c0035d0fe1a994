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
PathLike = Union[str, "os.PathLike[str]"]


class TopToken(NamedTuple):
    """A token that might have come, and its log-probability."""

    token: int
    logprob: float


class Beam(NamedTuple):
    """One text of a beam search."""

    text: str
    tokens: List[int]
    logprobs: List[float]
    score: float  #: what beams are compared by
    end: str


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
    top_logprobs: List[List[TopToken]] = []  #: at each place, with the option of that name
    beams: List[Beam] = []  #: of a beam search, the best first: the answer is that one
    guessed_tokens: int = 0  #: by lookup or draft
    guessed_right: int = 0  #: those of them that came

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
        self._at_end: Callable[[Answer], object] = lambda answer: None
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
        self._at_end(item)
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

    def generate(self, prompt: Union[None, str, Sequence[Any]] = None, *, messages: Optional[Sequence[Any]] = None,
                 tokens: Optional[Sequence[Any]] = None, stream: bool = False, stop: Union[str, Sequence[str]] = (),
                 logit_bias: Optional[Mapping[int, float]] = None, draft: Optional[LanguageModel] = None,
                 return_exceptions: bool = False, **options: Any) -> Any:  # fmt: skip
        """An answer to a prompt, to the messages of a conversation or to tokens; a list of answers to a list of them, sixteen of which are
        computed in each step: the same answers as one by one, with fewer readings of the weights.

        Args:
          prompt: text, in which names of control tokens stand for them; or a list of texts. An item of a list may be a dict: prompt,
            messages or tokens, and what is different for it: stop, logit_bias, options.
          messages: a conversation, [{"role": "user", "content": "..."}], or a list of conversations.
          tokens: as they are; or a list of lists.
          stream: give a `Stream`, an iterator of pieces of text, instead of an `Answer`. Not for lists.
          stop: a text, or several; the answer ends in front of any of these.
          logit_bias: by token, what is added to its logit; -math.inf: it never comes.
          draft: a small model of the same vocabulary, which guesses tokens; the answer is the same.
          return_exceptions: in a list, an exception stands for an answer that failed. Else the first one is raised.
          {options}

        Returns:
          Answer, list of Answer, or Stream.

        Raises:
          {raises}
        """
        common = {"stop": stop, "logit_bias": logit_bias, **options}
        asked = _requests(prompt, messages, tokens)
        if stream:
            if isinstance(asked, list):
                raise _hone.UsageError("a stream is of one prompt; leave stream out, or ask one by one")
            return Stream(self._text, lambda take: self._answers([asked], common, draft, take)[0])
        if not isinstance(asked, list):
            return self._answers([asked], common, draft)[0]
        return self._answers(asked, common, draft, None, return_exceptions)

    def _answers(self, asked: "List[Dict[str, Any]]", common: Dict[str, Any], draft: Optional[LanguageModel],
                 take: Optional[Callable[[str], None]] = None, keep: bool = False) -> List[Any]:  # fmt: skip
        if draft is not None and not isinstance(draft, LanguageModel):
            raise TypeError(f"draft is a hone.LanguageModel, not {draft!r}")
        rows = tuple(self._request({**common, **one}) for one in asked)
        out = self._text.generate(rows, None if draft is None else draft._text, take)
        for found in out:
            if isinstance(found, Exception) and not keep:
                raise found
        return [_answer(x) if isinstance(x, dict) else x for x in out]

    def _request(self, one: Dict[str, Any]) -> Any:
        """As the extension takes it: (prompt, tokens, stop texts, bias, options)."""
        one = {**one, **_asked(one)}
        prompt, messages, tokens, stop = (one.pop(k) for k in ("prompt", "messages", "tokens", "stop"))
        bias = one.pop("logit_bias")
        if messages is not None:
            prompt = self.prompt(messages)
        if isinstance(one.get("json_schema"), (Mapping, bool)):
            one["json_schema"] = json.dumps(one["json_schema"])
        return prompt, tokens, (stop,) if isinstance(stop, str) else tuple(stop), dict(bias or {}), one

    # --- sessions

    def session(self, tokens: Union[None, str, Tokens] = None) -> Session:
        """A session: tokens, and what the model computed of them. tokens: that it begins with; a text is framed."""
        s = Session(self, self._text.session())
        if tokens is not None:
            s.feed(self._tokens(tokens), last=0)
        return s

    def load_session(self, path: PathLike) -> Session:
        """A session that was saved, which goes on with the same bits; its note is in `note`.

        Raises:
          {raises}
        """
        found, note = self._text.load(os.fspath(path))
        return Session(self, found, note)

    def feed(self, feeds: Sequence[Any], *, last: Optional[int] = 1) -> List[Any]:
        """Tokens behind those of several sessions at once, [(session, tokens), ...]: they share the reading of the weights. What a session
        gives does not depend on the others. Gives the logits of each, as `Session.feed` does. After a failure all are as before."""
        rows = tuple((s._session, self._plain_tokens(t), -1 if last is None else last) for s, t in feeds)
        return [self._logits(x) for x in self._text.feed(rows)]

    def conversation(self, messages: Union[None, str, Messages] = None) -> Conversation:
        """A conversation by the model's own chat template. messages: how it begins; a text is what the system says."""
        given = [{"role": "system", "content": messages}] if isinstance(messages, str) else list(messages or [])
        return Conversation(self, [dict(m) for m in given])

    def load_conversation(self, path: PathLike) -> Conversation:
        """A conversation that was saved, by `Conversation.save` or by `hone chat --save`."""
        session = self.load_session(path)
        try:
            messages = json.loads(session.note)
        except ValueError:
            messages = None
        if not isinstance(messages, list):
            session.close()
            raise _hone.InputError(f"'{os.fspath(path)}' is a session, but no conversation; load_session reads it")
        return Conversation(self, messages, session)

    # --- numbers

    def logits(self, tokens: Union[str, Tokens], *, last: bool = False) -> Any:
        """Logits behind each of the tokens (of a text: framed): float32 [tokens, vocabulary]. last: behind the last one alone,
        [vocabulary]."""
        found = self._logits(self._text.feed(((None, self._tokens(tokens), 1 if last else -1),))[0])
        return found[0] if last and len(found) else found

    def score(self, tokens: Union[str, Tokens]) -> Any:
        """Log-probability of each token but the first behind those in front of it: float64 [tokens - 1]."""
        import numpy as np

        return np.asarray(self._text.score(self._tokens(tokens)))

    def embed(self, text: Union[str, Tokens], *, pooling: str = "mean") -> Any:
        """A vector of length 1 that stands for a text: float32 [width]. The last layer's states behind the model's last norm, of all tokens
        on average ("mean") or of the last one ("last")."""
        import numpy as np

        if pooling not in ("mean", "last"):
            raise _hone.UsageError(f"pooling is {pooling!r}; give 'mean' or 'last'")
        return np.asarray(self._text.embed(self._tokens(text), pooling == "last"))

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

    def _plain_tokens(self, given: Union[str, Tokens]) -> List[int]:
        return self.tokenize(given, control=True) if isinstance(given, str) else [int(x) for x in given]

    def _logits(self, found: Any) -> Any:
        import numpy as np

        return np.asarray(found)[:, : self.vocabulary]


class Session:
    """Tokens, and what a model computed of them, kept for those that come behind. A model may have many; what one gives does not depend
    on the others. Use it in a `with` statement, or close it; when its model is closed it is, too. len() is the number of tokens."""

    def __init__(self, model: LanguageModel, session: _hone.TextSession, note: str = "") -> None:
        self._session = session
        self.model = model
        #: What `save` kept beside it.
        self.note = note

    def feed(self, tokens: Union[str, Tokens], *, last: Optional[int] = 1) -> Any:
        """Puts tokens (of a text: with control tokens by name) behind those so far, and gives the logits of the last of them:
        float32 [last, vocabulary]; None: of all. After a failure the session is as before.

        Raises:
          {raises}
        """
        return self.model.feed([(self, tokens)], last=last)[0]

    @property
    def tokens(self) -> List[int]:
        """The tokens so far."""
        return self._session.tokens()

    def __len__(self) -> int:
        return len(self.tokens)

    def fork(self) -> Session:
        """Another session with the same tokens, which shares what was computed; they part from here on."""
        return Session(self.model, self._session.fork(), self.note)

    def truncate(self, n: int) -> None:
        """Forgets all but the first n tokens."""
        if n < 0:
            raise _hone.UsageError(f"a session cannot be cut to {n} tokens")
        self._session.truncate(n)

    def save(self, path: PathLike, note: Optional[str] = None) -> None:
        """Writes tokens, keys and values, and a note (None: the one it has) to a file, for `LanguageModel.load_session`."""
        self._session.save(os.fspath(path), self.note if note is None else note)

    @property
    def closed(self) -> bool:
        """Has `close` been called, of it or of its model?"""
        return self._session.closed

    def close(self) -> None:
        """Frees it. Closing it again does nothing."""
        self._session.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<hone.Session of {self.model.path!r}: {'closed' if self.closed else f'{len(self)} tokens'}>"


class Conversation:
    """Messages, and a model that answers them. What was computed for the messages so far is found again by the next answer, also of a
    fork. `messages` is the list, which may be changed."""

    def __init__(self, model: LanguageModel, messages: List[Dict[str, Any]], session: Optional[Session] = None) -> None:
        self.model = model
        self.messages = messages
        self._session = session  # of a file: open as long as what is in it is to be found

    def say(self, text: str, *, stream: bool = False, **options: Any) -> Any:
        """The user says something; gives the model's `Answer`, which joins the messages. Options: as of `LanguageModel.generate`.
        stream: a `Stream` of pieces; the answer joins at its end, and nothing joins where it is left early."""
        asked = [*self.messages, {"role": "user", "content": text}]
        if stream:
            prompt = self.model.prompt(asked)
            found = self.model.generate(prompt, stream=True, **options)
            found._at_end = lambda answer: self._join(asked, answer)
            return found
        answer = self.model.generate(messages=asked, **options)
        self._join(asked, answer)
        return answer

    def _join(self, asked: List[Dict[str, Any]], answer: Answer) -> None:
        self.messages = [*asked, {"role": "assistant", "content": answer.text}]

    def fork(self) -> Conversation:
        """Another conversation with the same messages so far."""
        return Conversation(self.model, [dict(m) for m in self.messages], self._session)

    def save(self, path: PathLike) -> None:
        """Writes the messages and what was computed for them to a file, for `LanguageModel.load_conversation` and
        `hone chat --load`."""
        prompt = self.model.prompt(self.messages, answer=False)
        tokens = self.model.tokenize(prompt, frame=True, control=True)
        with self.model.session(tokens) as s:
            s.save(path, json.dumps(self.messages))

    def __repr__(self) -> str:
        return f"<hone.Conversation with {self.model.path!r}: {len(self.messages)} messages>"


def _answer(found: Dict[str, Any]) -> Answer:
    found["top_logprobs"] = [[TopToken(*x) for x in place] for place in found["top_logprobs"]]
    found["beams"] = [Beam(*x) for x in found["beams"]]
    return Answer(**found)


def _asked(one: Mapping[str, Any]) -> Dict[str, Any]:
    """A request's prompt, messages and tokens, one of which there is."""
    asked = {k: one.get(k) for k in ("prompt", "messages", "tokens")}
    if sum(x is not None for x in asked.values()) != 1:
        raise _hone.UsageError("give a prompt, or messages=, or tokens=: one of them")
    return asked


def _requests(prompt: Any, messages: Any, tokens: Any) -> Any:
    """A request, or a list of them."""
    _asked({"prompt": prompt, "messages": messages, "tokens": tokens})
    if prompt is not None:
        if isinstance(prompt, str):
            return {"prompt": prompt}
        return [dict(p) if isinstance(p, Mapping) else {"prompt": p} for p in prompt]
    if messages is not None:
        several = len(messages) > 0 and not isinstance(messages[0], Mapping)
        return [{"messages": m} for m in messages] if several else {"messages": messages}
    several = len(tokens) > 0 and not hasattr(tokens[0], "__index__")
    return [{"tokens": t} for t in tokens] if several else {"tokens": tokens}


documented(LanguageModel, _hone.text_options, raises="language_model")
documented(LanguageModel.generate, _hone.generate_options, raises="text_generate")
documented(LanguageModel.load_session, raises="load_session")
documented(Session.feed, raises="session_feed")
