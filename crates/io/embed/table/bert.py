"""A BERT encoder in numpy: what sentence-transformers computes for models such as all-MiniLM-L6-v2."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


class Bert:
    """The model in a folder with config.json and model.safetensors."""

    def __init__(self, folder: Path):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = {name: value.astype(np.float32) for name, value in load_file(folder / "model.safetensors").items()}

    def embed(self, ids: np.ndarray) -> np.ndarray:
        """The mean-pooled vectors of `ids`, [texts, tokens] without padding; not normalised."""
        return self.states(ids).mean(axis=1)

    def states(self, ids: np.ndarray) -> np.ndarray:
        """The last layer's states, [texts, tokens, hidden]."""
        weights, length = self.weights, ids.shape[1]
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][:length]
        x = self.norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(x, f"encoder.layer.{layer}")
        return x

    def layer(self, x: np.ndarray, name: str) -> np.ndarray:
        heads = self.config["num_attention_heads"]
        texts, length, hidden = x.shape

        def split(part: str) -> np.ndarray:
            projected = self.linear(x, f"{name}.attention.self.{part}")
            return projected.reshape(texts, length, heads, hidden // heads).transpose(0, 2, 1, 3)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(np.float32(hidden // heads))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores = scores / scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(texts, length, hidden)
        x = self.norm(self.linear(mixed, f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm")
        inner = gelu(self.linear(x, f"{name}.intermediate.dense"))
        return self.norm(self.linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        mean = x.mean(axis=-1, keepdims=True)
        spread = np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + self.config["layer_norm_eps"])
        return (x - mean) / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + erf(x / np.sqrt(np.float32(2))))


def erf(x: np.ndarray) -> np.ndarray:
    """Abramowitz and Stegun 7.1.26, in doubles: within 1.5e-7 of the true value."""
    x = x.astype(np.float64)
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return (np.sign(x) * (1 - series * np.exp(-x * x))).astype(np.float32)
