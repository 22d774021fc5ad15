"""Makes what the local transformer is compared with: a tiny random model with its vectors, and vectors of the real one.

    transformer.py [--out FOLDER]
"""

import argparse
import json
from pathlib import Path

import numpy as np
from bert import Bert
from goldens import reference
from make import model_folder, reference_tokenizer
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

TINY = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}
PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat a thread of words ##s ##ing ##ed sing un ##able , . ! 漢 e x ##x".split()
TEXTS = [
    "the cat sat on the mat.",
    "Singing, unable! THREADS of wordings",
    "漢 é xxxxx unheard",
    "x",
    "the cat sat on the mat , " * 10,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "tests")
    out = parser.parse_args().out
    folder = model_folder()
    real = reference_tokenizer(folder)
    tiny = out / "tiny"
    tiny.mkdir(exist_ok=True)
    (tiny / "config.json").write_text(json.dumps(TINY | {"vocab_size": len(PIECES)}, indent=2) + "\n")
    (tiny / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    save_file(weights(), tiny / "model.safetensors")
    tokenizer = Tokenizer(WordPiece({piece: at for at, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = real.normalizer, real.pre_tokenizer
    write(out / "tiny.jsonl", Bert(tiny), tokenizer, PIECES, TINY["max_position_embeddings"])
    vocabulary = (folder / "vocab.txt").read_text().splitlines()
    write(out / "minilm.jsonl", Bert(folder), reference(real), vocabulary, 256)


def weights() -> dict[str, np.ndarray]:
    chance = np.random.default_rng(7)
    hidden, inner = TINY["hidden_size"], TINY["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (len(PIECES), hidden),
        "embeddings.position_embeddings.weight": (TINY["max_position_embeddings"], hidden),
        "embeddings.token_type_embeddings.weight": (TINY["type_vocab_size"], hidden),
    } | norm("embeddings.LayerNorm", hidden)
    for layer in range(TINY["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= linear(f"{name}.attention.{part}", hidden, hidden)
        shapes |= norm(f"{name}.attention.output.LayerNorm", hidden)
        shapes |= linear(f"{name}.intermediate.dense", inner, hidden) | linear(f"{name}.output.dense", hidden, inner)
        shapes |= norm(f"{name}.output.LayerNorm", hidden)
    return {name: chance.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def linear(name: str, wide: int, deep: int) -> dict[str, tuple]:
    return {f"{name}.weight": (wide, deep), f"{name}.bias": (wide,)}


def norm(name: str, wide: int) -> dict[str, tuple]:
    return {f"{name}.weight": (wide,), f"{name}.bias": (wide,)}


def write(path: Path, model: Bert, tokenizer: Tokenizer, vocabulary: list[str], length_max: int) -> None:
    first, last = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    lines = []
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids[: length_max - 2]
        vector = model.embed(np.array([[first, *ids, last]]))[0].astype(np.float64)
        vector = (vector / np.linalg.norm(vector)).round(6).tolist()
        lines.append(json.dumps({"text": text, "vector": vector}, separators=(",", ":")))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
