"""Tokenizers of GGUF files, held against the PyPI packages tokenizers and sentencepiece on fuzzed Unicode: the same ids, and the
text comes back. HONE_LONG: 100,000 lines for each kind of pattern instead of 2,000."""

import io
import os
import random
import subprocess
import unicodedata

import pytest

gguf = pytest.importorskip("gguf")
HELPER = os.path.join(os.environ.get("HONE_BUILD", "build"), "asan/tests/helper/tokenize")
LINES = 100000 if os.environ.get("HONE_LONG") else 2000

if not os.path.exists(HELPER):
    pytest.skip("the helper tokenize is not built", allow_module_level=True)

ENDINGS = "'s|'t|'re|'ve|'m|'ll|'d"
SPACES = r"\s+(?!\S)|\s+"
GPT2 = ENDINGS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|" + SPACES
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def words(numbers):
    return rf"(?i:{ENDINGS})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|{SPACES}"


def cased(endings, numbers):
    head = r"[^\r\n\p{L}\p{N}]?"
    return rf"{head}{UPPER}*{LOWER}+{endings}|{head}{UPPER}+{LOWER}*{endings}|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|{SPACES}"


# As the models' tokenizer.json files have them: (name in a GGUF file, patterns, whole pieces first).
BPE = [
    ("gpt-2", [GPT2], False),
    ("smollm", [r"\p{N}", GPT2], False),
    ("llama-bpe", [words(r"\p{N}{1,3}")], True),
    ("qwen2", [words(r"\p{N}")], False),
    ("tekken", [cased("", r"\p{N}")], False),
    ("gpt-4o", [cased(f"(?i:{ENDINGS})?", r"\p{N}{1,3}")], False),
    ("deepseek-v3", [r"\p{N}{1,3}", r"[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+",
                     r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
                     r"\s*[\r\n]+|" + SPACES], False),
]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_start|>x"]
RANGES = [(0x20, 0x7F)] * 6 + [(0, 0x20), (0x80, 0x250), (0x250, 0x600), (0x600, 0x700), (0x900, 0xA00), (0xE00, 0xE80), (0x1E00, 0x2000),
                               (0x2000, 0x2100), (0x2190, 0x2400), (0x3000, 0x3100), (0x4E00, 0x5000), (0xAC00, 0xAD00), (0xFF00, 0xFFF0),
                               (0x1F300, 0x1F650), (0x1D400, 0x1D500), (0x10000, 0x10400)]
WORDS = ("the quick brown fox it's WE'LL don't I'd they've HTTPServer camelCase naïve Straße ΑΒΓαβγ привет мир 你好 世界 こんにちは "
         "한국어 العربية हिन्दी 3.14159 2024-01-02 1000000 x=y+1; ... --- /usr/bin // \"quoted\" e\u0301 ǅ ʰ").split()


def assigned(code):
    """Whether all of the Unicode versions at work know this character: newer ones are told apart by their libraries alone."""
    c = chr(code)
    return not 0xD800 <= code < 0xE000 and unicodedata.category(c) != "Cn"


CHARS = [[chr(c) for c in range(a, b) if assigned(c)] for a, b in RANGES]


def line(r, special=()):
    out = []
    for _ in range(r.randrange(1, 24)):
        kind = r.random()
        if kind < 0.45:
            out.append(r.choice(WORDS))
        elif kind < 0.6:
            out.append(r.choice([" ", "  ", "   ", "\n", "\r\n", "\t", "\n\n ", " \n", "\u00a0", "\u3000", "\x85"]))
        elif kind < 0.63 and special:
            out.append(r.choice(special))
        else:
            out.append("".join(r.choice(r.choice(CHARS)) for _ in range(r.randrange(1, 6))))
        if r.random() < 0.5:
            out.append(" ")
    return "".join(out)


def lines(seed, n, special=()):
    r = random.Random(seed)
    return [line(r, special) for _ in range(n)]


def helper(path, texts, *options):
    feed = "".join(t.encode().hex() + "\n" for t in texts)
    got = subprocess.run([HELPER, path, *options], input=feed.encode(), capture_output=True)
    assert got.returncode == 0, got.stderr.decode()
    rows = [row.split("\t") for row in got.stdout.decode().splitlines()]
    return [[int(i) for i in ids.split()] for ids, _ in rows], [bytes.fromhex(back).decode("utf-8", "strict") for _, back in rows]


def first_difference(texts, ours, theirs):
    for t, x, y in zip(texts, ours, theirs):
        if x != y:
            return f"{t!r}: {x} instead of {y}"
    return None


def write(path, model, pre, tokens, types, merges=None, scores=None, ids=(), charsmap=None, **flags):
    w = gguf.GGUFWriter(path, "llama")
    w.add_tokenizer_model(model)
    if pre:
        w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    w.add_token_types(types)
    if merges is not None:
        w.add_token_merges(merges)
    if scores is not None:
        w.add_token_scores(scores)
    if charsmap:
        w.add_precompiled_charsmap(charsmap)
    for key, value in ids:
        w.add_uint32("tokenizer.ggml." + key, value)
    for key, value in flags.items():
        w.add_bool("tokenizer.ggml." + key, value)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


@pytest.mark.parametrize("pre,patterns,whole", BPE, ids=[b[0] for b in BPE])
def test_bytes_merged_by_rank(tmp_path, pre, patterns, whole):
    hf = pytest.importorskip("tokenizers")
    import json

    t = hf.Tokenizer(hf.models.BPE(ignore_merges=whole))
    cuts = [hf.pre_tokenizers.Split(hf.Regex(p), "isolated") for p in patterns]
    t.pre_tokenizer = hf.pre_tokenizers.Sequence([*cuts, hf.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = hf.trainers.BpeTrainer(vocab_size=2000, initial_alphabet=hf.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    t.train_from_iterator(lines(1, 3000), trainer)
    t.add_special_tokens(SPECIAL)
    model = json.loads(t.to_str())["model"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    tokens = [t.id_to_token(i) for i in range(t.get_vocab_size())]
    types = [3 if x in SPECIAL else 1 for x in tokens]
    write(tmp_path / "m.gguf", "gpt2", pre, tokens, types, merges)
    texts = lines(2, LINES, SPECIAL)
    theirs = [e.ids for e in t.encode_batch(texts, add_special_tokens=False)]
    ours, back = helper(tmp_path / "m.gguf", texts, "control")
    assert first_difference(texts, ours, theirs) is None
    assert back == texts
    plain, _ = helper(tmp_path / "m.gguf", ["a<|im_end|>b"])
    assert len(plain[0]) > 3 and tokens.index("<|im_end|>") not in plain[0]


def test_pieces_merged_by_score(tmp_path):
    sp = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    train = [x.replace("\0", "") for x in lines(1, 3000)]
    sp.SentencePieceTrainer.train(sentence_iterator=iter(train), model_writer=model, model_type="bpe", vocab_size=6000, byte_fallback=True,
                                  normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.98,
                                  split_digits=True, max_sentence_length=20000, minloglevel=2)
    p = sp.SentencePieceProcessor(model_proto=model.getvalue())
    n = p.get_piece_size()
    types = [2 if p.is_unknown(i) else 3 if p.is_control(i) else 6 if p.is_byte(i) else 5 if p.is_unused(i) else 1 for i in range(n)]
    write(tmp_path / "m.gguf", "llama", None, [p.id_to_piece(i) for i in range(n)], types, scores=[p.get_score(i) for i in range(n)],
          add_space_prefix=True)
    texts = [x for x in (t.replace("\0", "") for t in lines(3, LINES)) if "\u2581" not in x and x]
    theirs = p.encode(texts)
    ours, back = helper(tmp_path / "m.gguf", texts)
    assert first_difference(texts, ours, theirs) is None
    assert back == texts


@pytest.mark.parametrize("rule,extra,fallback", [("identity", False, True), ("nmt_nfkc", True, False), ("nmt_nfkc_cf", False, False)])
def test_the_likeliest_pieces(tmp_path, rule, extra, fallback):
    """Unigram models as SentencePiece trains them: its compiled rules, its treatment of white space, bytes for what is unknown."""
    sp = pytest.importorskip("sentencepiece")
    from sentencepiece import sentencepiece_model_pb2 as pb
    model = io.BytesIO()
    train = [x.replace("\0", "") for x in lines(1, 2000)]
    sp.SentencePieceTrainer.train(sentence_iterator=iter(train), model_writer=model, model_type="unigram", vocab_size=6000, byte_fallback=fallback,
                                  normalization_rule_name=rule, remove_extra_whitespaces=extra, character_coverage=0.98, hard_vocab_limit=False,
                                  max_sentence_length=20000, minloglevel=2, num_sub_iterations=1, user_defined_symbols=["<|im_end|>"])
    p = sp.SentencePieceProcessor(model_proto=model.getvalue())
    m = pb.ModelProto()
    m.ParseFromString(model.getvalue())
    n = p.get_piece_size()
    types = [2 if p.is_unknown(i) else 3 if p.is_control(i) else 6 if p.is_byte(i) else 5 if p.is_unused(i) else 1 for i in range(n)]
    types[p.piece_to_id("<|im_end|>")] = 4
    write(tmp_path / "m.gguf", "t5", None, [p.id_to_piece(i) for i in range(n)], types, scores=[p.get_score(i) for i in range(n)],
          ids=[("unknown_token_id", p.unk_id()), ("eos_token_id", p.eos_id())], charsmap=bytes(m.normalizer_spec.precompiled_charsmap),
          add_space_prefix=True, remove_extra_whitespaces=extra)
    texts = [x for x in (t.replace("\0", "") for t in [*lines(3, LINES), "\x0b", "  ", "\x0b a "]) if "\u2581" not in x and x]
    theirs = p.encode(texts)
    ours, back = helper(tmp_path / "m.gguf", texts)
    assert first_difference(texts, ours, theirs) is None
    if fallback:
        assert back == texts
    framed, _ = helper(tmp_path / "m.gguf", ["ab<|im_end|>"], "frame")
    assert framed[0][-2:] == [p.piece_to_id("<|im_end|>"), p.eos_id()]


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_longest_pieces(tmp_path, lowercase):
    """WordPiece as BERT has it; in GGUF files words begin with a bar, and what goes on has no mark."""
    hf = pytest.importorskip("tokenizers")
    t = hf.Tokenizer(hf.models.WordPiece(unk_token="[UNK]"))
    t.normalizer = hf.normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = hf.pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(lines(1, 1500), hf.trainers.WordPieceTrainer(vocab_size=3000, show_progress=False, special_tokens=special, limit_alphabet=700))
    t.post_processor = hf.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    t.decoder = hf.decoders.WordPiece()
    tokens = [t.id_to_token(i) for i in range(t.get_vocab_size())]
    written = [x if x in special else x[2:] if x.startswith("##") and len(x) > 2 else "\u2581" + x for x in tokens]
    write(tmp_path / "m.gguf", "bert", None, written, [3 if x in special else 1 for x in tokens],
          ids=[("unknown_token_id", 1), ("cls_token_id", 2), ("seperator_token_id", 3), ("padding_token_id", 0)])
    texts = lines(3, LINES)
    theirs = [e.ids for e in t.encode_batch(texts)]
    ours, back = helper(tmp_path / "m.gguf", texts, "frame")
    assert first_difference(texts, ours, theirs) is None
    known = [i for i, x in enumerate(theirs) if 1 not in x]
    assert len(known) > 10
    assert first_difference([texts[i] for i in known], [back[i] for i in known], t.decode_batch([theirs[i] for i in known])) is None


def test_bytes_that_are_no_text_come_back(tmp_path):
    """Invalid UTF-8 becomes tokens of bytes; decoded it is U+FFFD for each part that is no character."""
    alphabet = [bytes([b]) for b in range(256)]
    visible = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b <= 0xFF]
    hidden = [b for b in range(256) if b not in visible]
    name = {b: chr(b) for b in visible} | {b: chr(0x100 + i) for i, b in enumerate(hidden)}
    write(tmp_path / "m.gguf", "gpt2", "gpt-2", [name[b[0]] for b in alphabet] + [name[0xC0] * 2], [1] * 257,
          [name[0xC0] + " " + name[0xC0]])
    r = random.Random(5)
    samples = [bytes(r.choice([r.randrange(256), 0xE2, 0x82, 0xAC, 0xF0, 0x9F]) for _ in range(r.randrange(1, 12))) for _ in range(500)]
    samples = [s for s in samples if b"\xc0\xc0" not in s]
    feed = "".join(s.hex() + "\n" for s in samples)
    got = subprocess.run([HELPER, tmp_path / "m.gguf"], input=feed.encode(), capture_output=True, check=True).stdout.decode().splitlines()
    for s, row in zip(samples, got):
        ids, back = row.split("\t")
        assert bytes(int(i) for i in ids.split()) == s
        assert bytes.fromhex(back) == s.decode("utf-8", "replace").encode()
