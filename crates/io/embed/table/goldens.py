"""What the reference tokenizer and plain arithmetic say about some texts, for the tests to compare with."""

import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

# As in the program.
TEXT_CHARS_MAX = 600

TEXTS = [
    "",
    " ",
    "hello world",
    "The quick brown fox jumped over the lazy dog, did it not?",
    "unaffable embeddings internationalisation antidisestablishmentarianism",
    "fn main() { println!(\"{}\", x_y[0] + camelCase::snake_case); } // €5 ~= $6^2 `tick` |pipe|",
    "https://example.com/path?query=1&other=two#part user@example.com C:\\dir\\file.txt",
    "Crème brûlée à la carte, naïve façade, Ångström, Ærøskøbing, Łódź, İstanbul, ſtraße GROẞ",
    "e\u0301cole cafe\u0301 n\u0303 \u0344 a\u0300\u0301\u0302b",
    "日本語のテキスト、漢字とかな。中文字符。한국어 문장입니다",
    "カタカナ がぎぐ ｶﾞ ﾊﾟ 𠀀𪚥 豈 々〆",
    "Привет, мир! Ёлка й Йод Ελληνικά Ἀθῆναι ΣΊΣΥΦΟΣ",
    "שָׁלוֹם עולם مرحبا بالعالم، كيف الحال؟ \u200fabc\u200e",
    "हिन्दी में पाठ தமிழ் ไทยภาษา ខ្មែរ বাংলা",
    "emoji 😀👍🏽 family 👨‍👩‍👧 flag 🇩🇪 heart ❤️ x😀y",
    "null\0byte \u0007bell\u001besc \ufffdreplaced \ufeffbom \u00adsoft \u2028line \u3000wide \u00a0nbsp\u2003em",
    "tab\tnew\nline\r\nreturn\vvertical\fform\u0085next",
    "x" * 100,
    "x" * 101 + " after",
    "é" * 100 + " " + "é" * 101,
    "a" * 5000,
    "🤷" * 120,
    "[CLS] [SEP] [UNK] [MASK] [PAD] ##ing ## # [unused1]",
    "don't can't I'm — “quoted” ‘single’ … 1,234.56 1.2.3 50% ½ ² ™ © ® № ﬁ ﬂ",
    "ABCdef ÀÉÎ ǅ Ǆ ŉ ΐ ß ẞ",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    "user: 2026-03-14 how did we fix the flaky PostgreSQL test on CI? assistant: by waiting for the signal",
    "a≠b x ≮ y \u1fef \u037e \u2000 \uf900",
    "word " * 400,
]


def write_goldens(folder: Path, tokenizer: Tokenizer, rows: np.ndarray, scales: np.ndarray, model: Path) -> None:
    goldens = [
        {"text": text, "ids": pieces(tokenizer, text), "vector": vector(tokenizer, text, rows, scales)} for text in TEXTS
    ]
    lines = [json.dumps(golden, ensure_ascii=True, separators=(",", ":")) for golden in goldens]
    (folder / "goldens.jsonl").write_text("\n".join(lines) + "\n")


def pieces(tokenizer: Tokenizer, text: str) -> list[int]:
    # Texts here are only text: names of special pieces mean nothing, and are taken apart like other words.
    return [id for id in reference(tokenizer).encode(text, add_special_tokens=False).ids]


def vector(tokenizer: Tokenizer, text: str, rows: np.ndarray, scales: np.ndarray) -> list[int]:
    """Signed bytes in the direction of the sum of the pieces' vectors; zeros if there are none."""
    ids = pieces(tokenizer, text[:TEXT_CHARS_MAX])
    total = (rows[ids].astype(np.float64) * scales[ids].astype(np.float64)[:, None]).sum(axis=0)
    most = np.abs(total).max()
    return [] if most == 0 else np.rint(total / most * 127).astype(int).tolist()


def reference(tokenizer: Tokenizer) -> Tokenizer:
    """The same rules and vocabulary without special pieces."""
    bare = Tokenizer(tokenizer.model)
    bare.normalizer = tokenizer.normalizer
    bare.pre_tokenizer = tokenizer.pre_tokenizer
    return bare
