"""tokenizer.json of folders, held against the PyPI package tokenizers on fuzzed Unicode: for each kind of model, normaliser, cut, frame
and decoder that well-known models use, the same ids and the same text back. HONE_LONG: 100,000 lines for each instead of 2,000."""

import io
import json
import os
import random
import sys

import pytest

hf = pytest.importorskip("tokenizers")
pytest.importorskip("gguf")
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from test_tokenizer import GPT2, HELPER, LINES, cased, first_difference, helper, lines, words  # noqa: E402

N, P, D, M, PP = hf.normalizers, hf.pre_tokenizers, hf.decoders, hf.models, hf.processors
BAR = "\u2581"
SPECIAL = ["<s>", "</s>", "<unk>", "[CLS]", "[SEP]", "<|im_end|>"]


def trained(t, kind, size=3000, **more):
    """The model is trained on fuzzed lines, so that its vocabulary has of everything a little."""
    text = [x.replace("\0", "") for x in lines(1, 1500)]
    t.train_from_iterator(text, kind(vocab_size=size, show_progress=False, **more))
    return t


def byte_bpe(*cuts, normalizer=None, prefix=False, regex=False, **model):
    t = hf.Tokenizer(M.BPE(**model))
    t.pre_tokenizer = P.Sequence([*cuts, P.ByteLevel(add_prefix_space=prefix, use_regex=regex)])
    if normalizer:
        t.normalizer = normalizer
    t.decoder = D.ByteLevel()
    return trained(t, hf.trainers.BpeTrainer, 2000, initial_alphabet=P.ByteLevel.alphabet(), special_tokens=SPECIAL)


def split(pattern, how="isolated", invert=False):
    return P.Split(hf.Regex(pattern), how, invert)


def piece_bpe(normalizer, cut, decoder, **model):
    """Llama 2's and Gemma's kind: pairs of characters by rank, bytes for what has no token."""
    t = hf.Tokenizer(M.BPE(unk_token="<unk>", **model))
    if normalizer:
        t.normalizer = normalizer
    if cut:
        t.pre_tokenizer = cut
    t.decoder = decoder
    first = SPECIAL + ([f"<0x{b:02X}>" for b in range(256)] if model.get("byte_fallback") else [])
    trained(t, hf.trainers.BpeTrainer, 2500, special_tokens=first, limit_alphabet=600)
    j = json.loads(t.to_str())
    j["added_tokens"] = [a for a in j["added_tokens"] if not a["content"].startswith("<0x")]
    return hf.Tokenizer.from_str(json.dumps(j))


def llama2():
    return piece_bpe(N.Sequence([N.Prepend(BAR), N.Replace(" ", BAR)]), None,
                     D.Sequence([D.Replace(BAR, " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]), byte_fallback=True, fuse_unk=True)


def gemma():
    return piece_bpe(N.Replace(" ", BAR), P.Split(" ", "merged_with_previous"), D.Sequence([D.Replace(BAR, " "), D.ByteFallback(), D.Fuse()]),
                     byte_fallback=True, fuse_unk=True)


def unknown_bpe(fuse):
    return piece_bpe(None, P.Metaspace(), D.Metaspace(), fuse_unk=fuse)


def unigram(normalizer=None, scheme="always", fallback=False, split=True):
    """Pieces of up to six characters from fuzzed lines, with random scores of which some are equal; some characters have none."""
    r = random.Random(7)
    norm = normalizer or N.Replace("x", "x")
    cut = P.Metaspace(prepend_scheme=scheme, split=split)
    pieces = {BAR: -3.0}
    for x in lines(1, 300):
        for piece, _ in cut.pre_tokenize_str(norm.normalize_str(x.replace("\0", ""))):
            for _ in range(4):
                at = r.randrange(len(piece))
                pieces.setdefault(piece[at:at + r.choice([1, 1, 1, 2, 3, 6])], round(r.uniform(-14, -4), r.choice([1, 6])))
    first = SPECIAL + ([f"<0x{b:02X}>" for b in range(256)] if fallback else [])
    t = hf.Tokenizer(M.Unigram([(p, 0.0) for p in first] + sorted(pieces.items()), SPECIAL.index("<unk>"), fallback))
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = cut
    t.decoder = D.Sequence([D.Replace(BAR, " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]) if fallback else D.Metaspace(prepend_scheme=scheme)
    t.add_special_tokens(SPECIAL)
    return t


def precompiled(rule):
    """SentencePiece's own rules, compiled, as a model of it carries them."""
    sp = pytest.importorskip("sentencepiece")
    from sentencepiece import sentencepiece_model_pb2 as pb
    model = io.BytesIO()
    sp.SentencePieceTrainer.train(sentence_iterator=iter(["a b c d"] * 50), model_writer=model, vocab_size=8, model_type="unigram",
                                  normalization_rule_name=rule, minloglevel=2, hard_vocab_limit=False)
    m = pb.ModelProto()
    m.ParseFromString(model.getvalue())
    return m.normalizer_spec.precompiled_charsmap


def t5():
    t = unigram(N.Sequence([N.Precompiled(precompiled("nmt_nfkc")), N.Replace(hf.Regex(" {2,}"), " ")]))
    t.post_processor = PP.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", t.token_to_id("</s>"))])
    return t


def wordpiece(lowercase=True, cased_accents=None, chinese=True, cleanup=True):
    t = hf.Tokenizer(M.WordPiece(unk_token="<unk>"))
    t.normalizer = N.BertNormalizer(lowercase=lowercase, strip_accents=cased_accents, handle_chinese_chars=chinese)
    t.pre_tokenizer = P.BertPreTokenizer()
    t.decoder = D.WordPiece(cleanup=cleanup)
    trained(t, hf.trainers.WordPieceTrainer, 2500, special_tokens=SPECIAL, limit_alphabet=700)
    t.post_processor = PP.BertProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
    return t


def plain_words(normalizer, cut):
    t = hf.Tokenizer(M.WordPiece(unk_token="<unk>"))
    t.normalizer = normalizer
    t.pre_tokenizer = cut
    t.decoder = D.WordPiece(cleanup=False)
    return trained(t, hf.trainers.WordPieceTrainer, 2500, special_tokens=SPECIAL, limit_alphabet=700)


def llama3():
    t = byte_bpe(split(words(r"\p{N}{1,3}")), ignore_merges=True)
    t.post_processor = PP.Sequence([PP.ByteLevel(trim_offsets=False),
                                    PP.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", t.token_to_id("<s>"))])])
    return t


def roberta():
    t = byte_bpe(prefix=True, regex=True)
    t.post_processor = PP.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


def added():
    """Tokens that take white space along, stand for whole words, or are looked for in normalised text."""
    t = wordpiece()
    t.add_tokens([hf.AddedToken("<mask>", lstrip=True, special=True), hf.AddedToken("don't", single_word=True, normalized=False),
                  hf.AddedToken("NAÏVE", normalized=True), hf.AddedToken("==>", rstrip=True, normalized=False)])
    return t


KINDS = {
    "gpt2": lambda: byte_bpe(regex=True),
    "llama3": llama3,
    "qwen2": lambda: byte_bpe(split(words(r"\p{N}")), normalizer=N.NFC()),
    "smollm": lambda: byte_bpe(P.Digits(individual_digits=True), regex=True),
    "gpt-4o": lambda: byte_bpe(split(cased("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"\p{N}{1,3}"))),
    "deepseek": lambda: byte_bpe(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(GPT2)),
    "roberta": roberta,
    "llama2": llama2,
    "gemma": gemma,
    "bpe-unknown": lambda: unknown_bpe(False),
    "bpe-unknown-fused": lambda: unknown_bpe(True),
    "t5": t5,
    "xlm-r": lambda: unigram(N.Precompiled(precompiled("nmt_nfkc_cf"))),
    "albert": lambda: unigram(N.Sequence([N.Replace("``", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), N.Nmt()])),
    "unigram-bytes": lambda: unigram(scheme="first", fallback=True),
    "unigram-whole": lambda: unigram(N.NFKC(), scheme="never", split=False),
    "bert": wordpiece,
    "bert-cased": lambda: wordpiece(lowercase=False),
    "bert-accents": lambda: wordpiece(cased_accents=False, chinese=False, cleanup=False),
    "words": lambda: plain_words(N.Sequence([N.NFD(), N.Strip()]), P.Sequence([P.Whitespace(), P.Digits()])),
    "punctuation": lambda: plain_words(N.NFC(), P.Sequence([P.WhitespaceSplit(), P.Punctuation("contiguous")])),
    "split-next": lambda: plain_words(N.Lowercase(), P.Sequence([P.Split("-", "merged_with_next"), split(r"\w+|[^\w\s]+", "removed", True)])),
    "split-previous": lambda: plain_words(N.NFC(), P.Sequence([P.CharDelimiterSplit(" "), split(r"[.,;]", "merged_with_previous")])),
    "added": added,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_ids(tmp_path, kind):
    t = KINDS[kind]()
    (tmp_path / "tokenizer.json").write_text(t.to_str())
    special = [*SPECIAL, " <mask> ", "<mask>", "don't", "NAÏVE", "naïve", "==>  "] if kind == "added" else SPECIAL
    texts = [x.replace("\0", "") for x in lines(2, LINES, special)] + ["", " ", "  a", "a  ", "x" * 120]
    theirs = [e.ids for e in t.encode_batch(texts)]
    ours, back = helper(tmp_path, texts, "frame", "control")
    assert first_difference(texts, ours, theirs) is None
    if kind.startswith("unigram-bytes") or kind in ("llama2", "gemma"):
        texts, theirs, back = zip(*[(a, b, c) for a, b, c in zip(texts, theirs, back) if not any(s in a for s in SPECIAL)])
    keep = [(x, y) for x, y in zip(theirs, back) if not any(t.id_to_token(i) in SPECIAL for i in x)]
    again = t.decode_batch([x for x, _ in keep], skip_special_tokens=False)
    assert first_difference([x for x, _ in keep], [y for _, y in keep], again) is None
