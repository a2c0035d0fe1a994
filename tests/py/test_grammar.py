"""Grammars: texts drawn through the masks, token by token, are accepted by checkers that share nothing with hone: the package
jsonschema, and a recogniser of GBNF below. A wrong mask is caught."""

import json
import os
import random
import re
import subprocess

import pytest

HELPER = os.path.join(os.environ.get("HONE_BUILD", "build"), "asan/tests/helper/grammar")
if not os.path.exists(HELPER):
    pytest.skip("the helper grammar is not built", allow_module_level=True)


def drawn(tmp_path, kind, text, seed, n, *wrong):
    path = tmp_path / f"{kind}.txt"
    path.write_text(text)
    got = subprocess.run([HELPER, kind, path, str(seed), str(n), *wrong], capture_output=True)
    assert got.returncode == 0, got.stderr
    return json.loads(got.stdout)


# --- JSON schemas

SCHEMAS = [
    {"type": "object", "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 120},
     "tags": {"type": "array", "items": {"enum": ["a", 'b"\\', 1, None, "ü"]}, "minItems": 1, "maxItems": 3}}, "required": ["name", "age"],
     "additionalProperties": {"type": "boolean"}},
    {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
     "value": {"type": ["integer", "string"], "maxLength": 2}}, "required": ["next"]}}},
    {"type": "string", "pattern": r"^(?:[a-f]{2,3}|\d+\.\w?|[^\s\d]\"?)$"},
    {"type": "string", "pattern": r"x\S[^a-y]|\t\D|\W\u00e4$"},
    {"type": "array", "items": {"type": "number", "minimum": -1.25, "exclusiveMaximum": 300.5}, "minItems": 4, "maxItems": 6},
    {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0.003, "maximum": 0.0201}, "minItems": 4, "maxItems": 6},
    {"type": "array", "items": {"type": "number", "exclusiveMinimum": -7.5, "exclusiveMaximum": -7.25}, "minItems": 4, "maxItems": 6},
    {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 4, "maxItems": 6},
    {"type": "array", "items": {"type": "number", "maximum": -12}, "minItems": 4, "maxItems": 6},
    {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 6},
    {"type": "array", "items": {"type": "integer", "exclusiveMinimum": -1012, "maximum": -99}, "minItems": 4, "maxItems": 6},
    {"type": "array", "items": {"type": "integer", "minimum": 9.5, "exclusiveMaximum": 1101}, "minItems": 4, "maxItems": 6},
    {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 6},
    {"oneOf": [{"type": "string", "format": "date-time"}, {"prefixItems": [{"const": 1.5}, True], "items": False, "type": "array"}]},
    {"type": "array", "items": {"anyOf": [{"type": "string", "format": f} for f in ("date", "time", "uuid", "ipv4", "date-time")]}, "minItems": 3, "maxItems": 9},
    {"type": "array", "items": {"anyOf": [{"type": "string", "format": f} for f in ("duration", "email", "hostname", "uri", "ipv6")]}, "minItems": 3, "maxItems": 9},
    {"type": "array", "items": {"type": "string", "format": "ipv6"}, "minItems": 4, "maxItems": 9},
    {"type": "object", "required": ["a", "z"], "properties": {"a": {"const": {"x": [1, 2.5, "é"]}}, "ab": {"type": "null"}, "b": False},
     "additionalProperties": {"type": "integer"}},
    {"type": "object", "additionalProperties": {"$ref": "#"}},
    {"type": ["object", "array"], "title": "anything within"},
    True,
]


HOST = r"(?=.{1,253}(?:[/:?#]|$))[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
INSIDE = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2}"
FORMATS = {  # RFC 3339, 5322, 1123, 3986
    "duration": r"P(?:\d+W|(?=.)(?:(?:\d+Y)?(?:\d+M)?(?:\d+D)?)(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)",
    "email": r"[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@" + HOST, "hostname": HOST,
    "uri": rf"https?://{HOST}(?::\d+)?(?:/{INSIDE})*)*(?:\?{INSIDE}|[/?])*)?(?:#{INSIDE}|[/?])*)?"}


def checker(schema):
    jsonschema = pytest.importorskip("jsonschema")
    formats = jsonschema.FormatChecker(["date", "uuid", "ipv4", "ipv6"])
    for name, form in FORMATS.items():
        formats.checks(name)(lambda text, form=form: bool(re.fullmatch(form, text)))
    return jsonschema.Draft202012Validator(schema, format_checker=formats)


def reads(text):
    def no(name):
        raise ValueError(name)
    return json.loads(text, parse_constant=no)


@pytest.mark.parametrize("i", range(len(SCHEMAS)))
def test_a_schema(tmp_path, i):
    check, done = checker(SCHEMAS[i]), 0
    for one in drawn(tmp_path, "schema", json.dumps(SCHEMAS[i]), i, 40):
        if one["done"]:
            check.validate(reads(one["text"]))
            done += 1
    assert done >= 10


def test_schemas_at_random(tmp_path):
    """Bounds of all kinds."""
    r = random.Random(5)
    for k in range(60):
        low, high = sorted(r.choice((r.randint(-30, 30), r.randint(-10**6, 10**6), r.uniform(-3, 3), r.uniform(-1e5, 1e5), round(r.uniform(-5, 5), 2))) for _ in range(2))
        s = {"type": "number" if k % 2 else "integer", r.choice(("minimum", "exclusiveMinimum")): low, r.choice(("maximum", "exclusiveMaximum")): high}
        if k % 7 == 0:
            s.popitem()
        if s["type"] == "integer" and high - low < 3:
            continue
        check = checker(s)
        for one in drawn(tmp_path, "schema", json.dumps(s), k, 20):
            assert one["done"]
            check.validate(reads(one["text"]))


def test_a_wrong_mask_is_caught(tmp_path):
    check, bad = checker(SCHEMAS[0]), 0
    for one in drawn(tmp_path, "schema", json.dumps(SCHEMAS[0]), 3, 40, "wrong"):
        try:
            check.validate(reads(one["text"]))
        except Exception:
            bad += 1
    assert bad > 0


def test_all_integers_within_bounds(tmp_path):
    """Exactly: every integer near the bounds is judged as it should be."""
    for low, high in ((-3, 3), (7, 7), (95, 105), (-1234, -98), (0, 1000), (999, 12345)):
        path = tmp_path / "s.json"
        path.write_text(json.dumps({"type": "integer", "minimum": low, "maximum": high}))
        numbers = range(low - 120, high + 120)
        got = subprocess.run([HELPER, "schema", path], input="".join(json.dumps(str(n)) + "\n" for n in numbers), capture_output=True, text=True)
        assert [v == "2" for v in got.stdout.split()] == [low <= n <= high for n in numbers]


# --- GBNF: a recogniser by sets of ends, of a grammar parsed by regular expressions

TOKEN = re.compile(r"""\s+|\#[^\n]*|(?P<name>[\w-]+)(?P<rule>\s*::=)?|(?P<text>"(?:\\.|[^"\\])*")|(?P<cls>\[(?:\\.|[^\]\\])*\])|(?P<count>\{[^}]*\})|(?P<op>[|()*+?.])""")


def unescape(s):
    def one(m):
        x = m.group(1)
        return chr(int(x[1:], 16)) if x[0] in "xuU" and len(x) > 1 else {"n": "\n", "t": "\t", "r": "\r"}.get(x, x)
    return re.sub(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", one, s, flags=re.S)


class Gbnf:
    def __init__(self, text):
        self.rules, self.tokens, at = {}, [], 0
        while at < len(text):
            m = TOKEN.match(text, at)
            assert m, text[at:]
            at = m.end()
            if m.lastgroup:
                self.tokens.append(("rule", m["name"]) if m["rule"] else (m.lastgroup, m[m.lastgroup]))
        self.tokens.append(("end", ""))
        self.at = 0
        while self.peek()[0] == "rule":
            name = self.next()[1]
            self.rules[name] = self.alternatives()
        assert self.peek()[0] == "end", self.peek()

    def peek(self):
        return self.tokens[self.at]

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def alternatives(self):
        out = [self.sequence()]
        while self.peek() == ("op", "|"):
            self.next()
            out.append(self.sequence())
        return ("any", out)

    def sequence(self):
        out = []
        while self.peek()[0] in ("name", "text", "cls") or self.peek() in (("op", "("), ("op", ".")):
            kind, value = self.next()
            if kind == "name":
                x = ("call", value)
            elif kind == "text":
                x = ("text", unescape(value[1:-1]))
            elif kind == "cls":
                x = ("class", re.compile("[" + "".join(self.in_class(value[1:-1])) + "]", re.S))
            elif value == ".":
                x = ("class", re.compile(".", re.S))
            else:
                x = self.alternatives()
                assert self.next() == ("op", ")")
            while self.peek()[0] == "count" or self.peek() in (("op", "*"), ("op", "+"), ("op", "?")):
                kind, value = self.next()
                if kind == "count":
                    low, _, high = value[1:-1].partition(",")
                    x = ("repeat", x, int(low), int(high or 10**9) if "," in value else int(low))
                else:
                    x = ("repeat", x, int(value == "+"), 1 if value == "?" else 10**9)
            out.append(x)
        return ("all", out)

    @staticmethod
    def in_class(s):
        if s.startswith("^"):
            yield "^"
            s = s[1:]
        for m in re.finditer(r"\\(?:x..|u....|U........|.)|.", s, re.S):
            yield "-" if m[0] == "-" else re.escape(unescape(m[0]))

    def ends(self, x, text, at):
        if x[0] == "text":
            return {at + len(x[1])} if text.startswith(x[1], at) else set()
        if x[0] == "class":
            return {at + 1} if x[1].match(text, at) else set()
        if x[0] == "any":
            return set().union(*(self.ends(y, text, at) for y in x[1]))
        if x[0] == "call":
            key = (x[1], at)
            if key not in self.memo:
                self.memo[key] = self.ends(self.rules[x[1]], text, at)
            return self.memo[key]
        if x[0] == "all":
            now = {at}
            for y in x[1]:
                now = set().union(*(self.ends(y, text, p) for p in now))
            return now
        now, out, k = {at}, set(), 0
        while now and k <= x[3]:
            if k >= x[2]:
                if now <= out:
                    break
                out |= now
            now = set().union(*(self.ends(x[1], text, p) for p in now))
            k += 1
        return out

    def accepts(self, text):
        self.memo = {}
        return len(text) in self.ends(("call", "root"), text, 0)


GRAMMARS = [
    r'''root ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws # text
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}''',
    r'''root ::= "a" b{2,5} (c | "\u00e4\x41")+ .
b ::= [^a-z\]]
c ::= "x" c | "y" | ""''',
    r'''root ::= move{1,9} ("." | "!")?
move ::= [KQRBN]? ([a-h] [1-8]){1,2} "+"? " "''',
    r'''root ::= (("ab" | "a") ("b" | "ba"?))* "\n"''',
    r'''root ::= [ä-€]{3} [^ä-€]? ("😀" | [\U0001F600-\U0001F64F])''',
    r'''root ::= "(" root ")" | root2
root2 ::= ("<" root2 ">")* "|"''',
]


@pytest.mark.parametrize("i", range(len(GRAMMARS)))
def test_a_grammar(tmp_path, i):
    check, done = Gbnf(GRAMMARS[i]), 0
    for one in drawn(tmp_path, "gbnf", GRAMMARS[i], i, 60):
        if one["done"] and len(one["text"]) < 500:
            assert check.accepts(one["text"]), one["text"]
            done += 1
    assert done >= 20


@pytest.mark.parametrize("i", range(len(GRAMMARS)))
def test_changed_texts_are_judged_alike(tmp_path, i):
    """Texts of the grammar with a character more, less or other."""
    r, check = random.Random(i), Gbnf(GRAMMARS[i])
    texts = []
    for one in drawn(tmp_path, "gbnf", GRAMMARS[i], i + 100, 40):
        t = one["text"]
        for _ in range(5 if one["done"] and len(t) < 300 else 0):
            at = r.randrange(len(t) + 1)
            texts.append(t[:at] + r.choice(("", "a", "]", "0", "|", "ä")) + t[at + r.randint(0, 1):])
    got = subprocess.run([HELPER, "gbnf", tmp_path / "gbnf.txt"], input="".join(json.dumps(t) + "\n" for t in texts), capture_output=True, text=True)
    judged = got.stdout.split()
    assert len(judged) == len(texts) >= 50
    assert [v == "2" for v in judged] == [check.accepts(t) for t in texts]
